/** `berth config`: what can be configured, and what is wrong with a configuration. */

import { defaultsYaml } from "../config/defaults-yaml.ts";
import { configurationSchema } from "../config/json-schema.ts";
import { checkConfig, mistakeLine } from "../config/load.ts";
import { reference } from "../config/reference.ts";
import type { ConfigFlags } from "../config.ts";
import { jsonText, Misuse, parseOptions, readOutput, runCommand } from "./arguments.ts";
import { orMisuse, readConfigText } from "./config-file.ts";
import type { Command, CommandIo } from "./io.ts";

const help = `Usage: berth config --defaults | --schema | --reference
       berth config --check FILE [--listen HOST:PORT] [--debug-listen HOST:PORT] [-o text|json]

Prints what "berth serve --config" can be told, or looks at a file for it. Needs no cluster. docs/configuration.md has the table.

      --defaults               every key with its default and what it is for, as YAML to begin with
      --schema                 the JSON Schema, for editors
      --reference              the table of all keys, in Markdown
      --check FILE             says all that is wrong in the file: on which line, and what would be right; "-" is standard input
      --listen HOST:PORT       as "berth serve" will be told
      --debug-listen HOST:PORT
  -o, --output FORMAT          of --check: "text" (default) or "json"

--check exits with 0 where "berth serve" takes the file, with 1 where it does not, with 2 when the file cannot be read.
`;

export const configCommand: Command = (argv, io) => runCommand("config", io, () => config(argv, io));

const prints = {
  defaults: () => defaultsYaml(),
  schema: () => `${JSON.stringify(configurationSchema(), null, 2)}\n`,
  reference,
} as const;

async function config(argv: readonly string[], io: CommandIo): Promise<number> {
  const options = parseOptions(argv, {
    defaults: { type: "boolean" },
    schema: { type: "boolean" },
    reference: { type: "boolean" },
    check: { type: "string" },
    listen: { type: "string" },
    "debug-listen": { type: "string" },
    output: { type: "string", short: "o", default: "text" },
    help: { type: "boolean", short: "h" },
  });
  if (options.help) {
    io.stdout.write(help);
    return 0;
  }
  const asked = (["defaults", "schema", "reference", "check"] as const).filter((name) => options[name] !== undefined);
  const [wanted, second] = asked;
  if (!wanted || second) throw new Misuse("give one of --defaults, --schema, --reference and --check FILE");
  const output = readOutput(options.output, ["text", "json"]);
  const { check } = options;
  if (wanted !== "check") {
    io.stdout.write(prints[wanted]());
    return 0;
  }
  return checkFile(check ?? "", output, options, io);
}

function checkFile(path: string, output: "text" | "json", flags: ConfigFlags, { stdout }: CommandIo): number {
  const text = readConfigText(path === "-" ? "/dev/stdin" : path, `--check ${path}`);
  const mistakes = orMisuse(() => checkConfig(text, flags));
  if (output === "json") stdout.write(jsonText(mistakes.map((mistake) => ({ file: path, ...mistake }))));
  else {
    for (const mistake of mistakes) stdout.write(`${mistakeLine(mistake, path)}\n`);
    if (mistakes.length === 0) stdout.write(`${path}: nothing is wrong\n`);
  }
  return mistakes.length === 0 ? 0 : 1;
}
