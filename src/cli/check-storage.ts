/** `berth check-storage`: what is wrong in a cluster's classes, volumes and claims before a Pod meets it. */

import { Translator } from "../apis/kubernetes.ts";
import { counted } from "../scheduling/counted.ts";
import { checkStorage } from "../scheduling/storage-check.ts";
import { storageMistakes } from "../scheduling/storage-findings.ts";
import { nodeAnnotations, stateFor } from "../server/berth.ts";
import { jsonText, Misuse, parseOptions, readOutput, runCommand } from "./arguments.ts";
import { readConfigFile } from "./config-file.ts";
import type { Command, CommandIo } from "./io.ts";
import { listCluster } from "./list-cluster.ts";
import { readManifests } from "./manifests.ts";
import { loadState } from "./simulate-input.ts";
import { storageFacts } from "./storage-facts.ts";
import { wrap } from "./wrap.ts";

const help = `Usage: berth check-storage [-f FILE... | --kubeconfig FILE] [--config FILE] [-o table|json]

Looks at classes, volumes, claims, nodes and published capacity, and says of each mistake what it is, why, and what to do.
docs/check-storage.md lists everything that is looked for. Changes nothing.

  -f, --file FILE        files that "kubectl get nodes,pv,pvc,sc,csidrivers,csinodes,csistoragecapacities -A -o yaml" wrote
      --kubeconfig FILE  without -f, which cluster; else the Pod's service account, $KUBECONFIG, ~/.kube/config
      --config FILE      Berth's configuration, for classes, pools and disks that it tells of
  -o, --output FORMAT    "table" (default) or "json"

Exits with 0 when nothing is found, 1 when something is, 2 when the input cannot be read.
`;

export const checkStorageCommand: Command = (argv, io) => runCommand("check-storage", io, () => run(argv, io));

async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const options = parseOptions(argv, {
    file: { type: "string", short: "f", multiple: true },
    kubeconfig: { type: "string" },
    config: { type: "string" },
    output: { type: "string", short: "o", default: "table" },
    help: { type: "boolean", short: "h" },
  });
  if (options.help) {
    io.stdout.write(help);
    return 0;
  }
  const output = readOutput(options.output, ["table", "json"]);
  const { file } = options;
  if (file && options.kubeconfig !== undefined) throw new Misuse("-f and --kubeconfig: from files, or from a cluster");
  const config = readConfigFile("--config", options.config);
  const manifests = file ? readManifests(file) : await listCluster(io, options.kubeconfig ?? config.kubeconfig);
  const state = stateFor({ now: () => 0 }, config);
  // What cannot be read is a finding, said below.
  loadState(state, manifests, new Translator({ nodeAnnotations: nodeAnnotations(config) }));
  const found = checkStorage(state, storageFacts(manifests)).map((one) => {
    const { why, fix } = storageMistakes[one.id];
    return { ...one, why, fix };
  });
  if (output === "json") io.stdout.write(jsonText(found));
  else {
    const lines = found.flatMap(({ id, object, detail, why, fix }) => [
      ...wrap(`${object}: ${detail} [${id}]`),
      ...wrap(`why: ${why}`, "    "),
      ...wrap(`fix: ${fix}`, "    "),
    ]);
    const end = found.length === 0 ? "Nothing found" : counted(found.length, "finding");
    io.stdout.write(`${[...lines, end].join("\n")}\n`);
  }
  return found.length === 0 ? 0 : 1;
}
