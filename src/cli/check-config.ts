/** `berth check-config`: what is wrong in a KubeSchedulerConfiguration with Berth in it, where, why, and what to do. */

import { checkSchedulerConfig } from "../scheduler-config/check.ts";
import { type Finding, mistakeOf } from "../scheduler-config/findings.ts";
import { counted } from "../scheduling/counted.ts";
import { jsonText, Misuse, parseWithWords, readOutput, runCommand } from "./arguments.ts";
import { readConfigFile } from "./config-file.ts";
import type { Command, CommandIo } from "./io.ts";
import { readText } from "./read-text.ts";

const help = `Usage: berth check-config FILE... [--berth-config FILE] [--url URL] [--kube-version X.Y] [-o text|json]

Looks at files for "kube-scheduler --config" and says what in them does not go together with Berth: on which line, why, and
what to do. Needs no cluster. docs/scheduler-config.md lists everything that is looked for.

      --berth-config FILE  Berth's own configuration, whose binding.timeout and schedulerName must suit (default: the defaults)
      --url URL            where Berth listens, where its entries cannot be told by "berth" or the port 10290
      --kube-version X.Y   of kube-scheduler, such as 1.36 (default the newest)
  -o, --output FORMAT      "text" (default) or "json"

Exits with 0 where there is no error, warnings aside; with 1 where there is one; with 2 when a file cannot be read.
`;

const sizeMax = 1 << 20;

export const checkConfigCommand: Command = (argv, io) => runCommand("check-config", io, () => checkConfig(argv, io));

async function checkConfig(argv: readonly string[], io: CommandIo): Promise<number> {
  const { options, words: files } = parseWithWords(argv, {
    "berth-config": { type: "string" },
    url: { type: "string" },
    "kube-version": { type: "string" },
    output: { type: "string", short: "o", default: "text" },
    help: { type: "boolean", short: "h" },
  });
  if (options.help) {
    io.stdout.write(help);
    return 0;
  }
  const output = readOutput(options.output, ["text", "json"]);
  const { url } = options;
  if (files.length === 0) throw new Misuse('name a file; see "berth check-config --help"');
  const minor = readMinor(options["kube-version"]);
  const config = readConfigFile("--berth-config", options["berth-config"]);
  const found = files.flatMap((file) => {
    const findings = checkSchedulerConfig(readText(file, file, sizeMax), {
      url,
      minor,
      bindTimeoutMs: config.binding.timeoutMs,
      schedulerName: options["berth-config"] === undefined ? undefined : config.schedulerName,
    });
    return findings.map((finding) => ({ file, ...finding, ...told(finding) }));
  });
  const errors = found.filter(({ severity }) => severity === "error").length;
  if (output === "json") io.stdout.write(jsonText(found));
  else {
    for (const one of found) {
      io.stdout.write(`${one.file}:${one.line}: ${one.severity}: ${one.detail} [${one.id}]\n`);
      io.stdout.write(`    why: ${one.why}\n    fix: ${one.fix}\n`);
    }
    io.stdout.write(
      found.length === 0
        ? "Nothing found\n"
        : `${counted(errors, "error")}, ${counted(found.length - errors, "warning")}\n`,
    );
  }
  return errors > 0 ? 1 : 0;
}

function told({ id }: Finding) {
  const { severity, why, fix } = mistakeOf(id);
  return { severity, why, fix };
}

/** @throws Misuse */
function readMinor(written: string | undefined): number | undefined {
  if (written === undefined) return undefined;
  const minor = /^v?1\.(\d{1,3})(\.\d+)?$/.exec(written)?.[1];
  if (minor === undefined) throw new Misuse(`--kube-version ${written} is not a version such as "1.36"`);
  return Number(minor);
}
