/** `berth scheduler-config`: the configuration that kube-scheduler needs to ask Berth. */
import type { Deployment } from "../scheduler-config/deployments.ts";
import { defaultSchedulerName, schedulerConfigYaml } from "../scheduler-config/generate.ts";
import { bareUrl } from "../scheduler-config/view.ts";
import { Misuse, parseOptions, runCommand } from "./arguments.ts";
import { readConfigFile, readMode } from "./config-file.ts";
import type { Command, CommandIo } from "./io.ts";

const help = `Usage: berth scheduler-config [--mode MODE] [--url URL] [OPTION]...

Prints the KubeSchedulerConfiguration for "kube-scheduler --config", with a word on each part that is there for Berth.

      --mode MODE            "second-scheduler" (default): a kube-scheduler of Berth's own, beside it, for Pods that name it
                             "control-plane": the cluster's own kube-scheduler asks Berth about every Pod, over TLS
                             "filter-only": kube-scheduler binds the volumes itself, and Berth filters and scores
      --url URL              where Berth listens (default http://127.0.0.1:10290/v1, with control-plane https)
      --scheduler-name NAME  of the profile (default "berth-scheduler" for a second scheduler, else "default-scheduler")
      --config FILE          Berth's configuration: bind waits for as long as it says, and ten seconds more
      --kubeconfig FILE      kube-scheduler's (default none for a second scheduler, else /etc/kubernetes/scheduler.conf)
      --ca-file FILE         what kube-scheduler trusts at an https URL (default ${tlsFolder()}ca.crt)
      --cert-file FILE       what it shows of itself there (default ${tlsFolder()}scheduler.crt)
      --key-file FILE        the key of that (default ${tlsFolder()}scheduler.key)
      --server-name NAME     the name in Berth's certificate, where that is not the one in the URL

Files are named as kube-scheduler finds them. "berth check-config" looks at the result.
`;

function tlsFolder(): string {
  return "/etc/berth/";
}

export const schedulerConfigCommand: Command = (argv, io) =>
  runCommand("scheduler-config", io, () => printConfig(argv, io));

async function printConfig(argv: readonly string[], io: CommandIo): Promise<number> {
  const options = parseOptions(argv, {
    mode: { type: "string" },
    url: { type: "string" },
    "scheduler-name": { type: "string" },
    config: { type: "string" },
    kubeconfig: { type: "string" },
    "ca-file": { type: "string" },
    "cert-file": { type: "string" },
    "key-file": { type: "string" },
    "server-name": { type: "string" },
    help: { type: "boolean", short: "h" },
  });
  if (options.help) {
    io.stdout.write(help);
    return 0;
  }
  const mode = readMode(options.mode);
  const urlPrefix = readUrl(options.url, mode);
  const isHttps = urlPrefix.startsWith("https:");
  const tlsOption = (["ca-file", "cert-file", "key-file", "server-name"] as const).find((name) => options[name]);
  if (tlsOption && !isHttps) throw new Misuse(`--${tlsOption} is for a URL of https://, and this one is ${urlPrefix}`);
  const serverName = options["server-name"];
  const tls = isHttps && {
    caFile: options["ca-file"] ?? `${tlsFolder()}ca.crt`,
    certFile: options["cert-file"] ?? `${tlsFolder()}scheduler.crt`,
    keyFile: options["key-file"] ?? `${tlsFolder()}scheduler.key`,
    ...(serverName !== undefined && { serverName }),
  };
  const isSecond = mode === "second-scheduler";
  io.stdout.write(
    schedulerConfigYaml({
      mode,
      urlPrefix,
      ...(tls && { tls }),
      schedulerName: options["scheduler-name"] || (isSecond ? "berth-scheduler" : defaultSchedulerName),
      kubeconfig: options.kubeconfig ?? (isSecond ? undefined : "/etc/kubernetes/scheduler.conf"),
      bindTimeoutMs: readConfigFile("--config", options.config).binding.timeoutMs,
    }),
  );
  return 0;
}

/** With the path that Berth's verbs are under. @throws Misuse */
function readUrl(written: string | undefined, mode: Deployment): string {
  const url = written ?? `${mode === "control-plane" ? "https" : "http"}://127.0.0.1:10290`;
  if (!URL.canParse(url) || !/^https?:\/\/[^/]/.test(url)) {
    throw new Misuse(`--url ${JSON.stringify(url)} is not a URL such as "https://berth.example:10290"`);
  }
  return `${bareUrl(url)}/v1`;
}
