/** `berth simulate`: which nodes could hold a Pod's volumes, from files and offline. The same input gives the same bytes. */
import { kindInfo, Translator } from "../apis/kubernetes.ts";
import { type Answer, answerPod } from "../scheduling/answer.ts";
import { filterNodes } from "../scheduling/filter.ts";
import { type NodeName, nodeName, type PodKey, podKey } from "../scheduling/names.ts";
import type { Pod } from "../scheduling/objects.ts";
import type { NodePlacing } from "../scheduling/placing.ts";
import { printable } from "../scheduling/printable.ts";
import type { ClusterState } from "../scheduling/state.ts";
import { nodeAnnotations, stateFor } from "../server/berth.ts";
import { claimLines } from "../server/explain-text.ts";
import { placingsOf } from "../server/placing.ts";
import { jsonText, Misuse, parseOptions, readOutput, runCommand } from "./arguments.ts";
import { readConfigFile } from "./config-file.ts";
import { placingLines } from "./explain-table.ts";
import type { Command, CommandIo } from "./io.ts";
import { readManifests } from "./manifests.ts";
import { absentKinds, isAbsent, loadState, podSource } from "./simulate-input.ts";
import { printTable } from "./table.ts";

const help = `Usage: berth simulate -f FILE... --pod NAMESPACE/NAME [--node NAME]... [--config FILE] [-o table|json]

Says on which nodes the Pod's volumes fit, and why not on the others, from files that
"kubectl get nodes,pv,pvc,sc,csidrivers,csinodes,csistoragecapacities,pods -A -o yaml" wrote. Needs no cluster.

  -f, --file FILE        a YAML or JSON file, or a directory of them; may be repeated
      --pod NS/NAME      the Pod; it must be in one of the files
      --node NAME        only this node; may be repeated
      --config FILE      Berth's configuration, for classes, pools and disks that it tells of
  -o, --output FORMAT    "table" (default) or "json"

Exits with 0 when at least one node fits, 1 when none does, 2 when the input cannot be used.
`;

export const simulateCommand: Command = (argv, io) => runCommand("simulate", io, () => simulate(argv, io));

async function simulate(argv: readonly string[], io: CommandIo): Promise<number> {
  const options = parseOptions(argv, {
    file: { type: "string", short: "f", multiple: true },
    pod: { type: "string" },
    node: { type: "string", multiple: true },
    config: { type: "string" },
    output: { type: "string", short: "o", default: "table" },
    help: { type: "boolean", short: "h" },
  });
  if (options.help) {
    io.stdout.write(help);
    return 0;
  }
  if (!options.file) throw new Misuse('name at least one file with "-f"; see "berth simulate --help"');
  const output = readOutput(options.output, ["table", "json"]);
  const key = readPodKey(options.pod);

  const config = readConfigFile("--config", options.config);
  const state = stateFor({ now: () => 0 }, config);
  const manifests = readManifests(options.file);
  const translator = new Translator({ nodeAnnotations: nodeAnnotations(config) });
  const warnings = loadState(state, manifests, translator);
  const pod = findPod(state, key);
  if (!options.node && isAbsent(state, "node"))
    throw new Misuse('no Node in the files; add "kubectl get nodes -o yaml"');
  const nodes = options.node && [...new Set(options.node)].sort().map(nodeName);
  refuseFaults(state, pod, nodes);
  warn(io, [...warnings, ...absentKinds(state, pod)]);

  const answer = answerPod(state, pod, nodes ? { nodes } : {});
  const placings = await placingsOf(podSource(manifests), { state, pod }, io.signal);
  const page = { ...answer, ...(placings.length > 0 && { placings }) };
  io.stdout.write(output === "json" ? jsonText(page) : printed(page));
  return answer.schedulable ? 0 : 1;
}

function readPodKey(written: string | undefined): PodKey {
  const [namespace, name, more] = written?.split("/") ?? [];
  if (namespace && name && more === undefined) return podKey(namespace, name);
  throw new Misuse(`${written === undefined ? "name" : `--pod ${written}: name`} the Pod as "--pod NAMESPACE/NAME"`);
}

function findPod(state: ClusterState, key: PodKey): Pod {
  const pod = state.get("pod", key);
  if (pod) return pod;
  const problem = state.problem("pod", key);
  if (problem !== undefined) throw new Misuse(`Pod ${key} cannot be read: ${problem}`);
  throw new Misuse(`Pod ${key} is in none of the files; add "kubectl get pod -n NAMESPACE NAME -o yaml"`);
}

/** @throws Misuse where the answer would depend on an object that could not be read */
function refuseFaults(state: ClusterState, pod: Pod, nodes: readonly NodeName[] | undefined): void {
  const verdict = filterNodes(state, pod, nodes ?? []);
  if (verdict.kind === "fault") {
    const { kind, key } = verdict.object;
    throw new Misuse(`${kindInfo[kind].kind} ${key}, which the Pod needs, cannot be read: ${verdict.problem}`);
  }
  for (const node of nodes ?? []) {
    const problem = state.problem("node", node);
    if (problem !== undefined) throw new Misuse(`node ${node} cannot be read: ${problem}`);
  }
}

function warn(io: CommandIo, warnings: readonly string[]): void {
  for (const warning of warnings) io.stderr.write(`berth simulate: warning: ${printable(warning)}\n`);
}

function printed(explanation: Answer & { readonly placings?: readonly NodePlacing[] }): string {
  const { pod, reason, nodes, placings = [] } = explanation;
  const rows = nodes.flatMap(({ node, fits, contended, score, reason: why, claims = [] }) => {
    const verdict = fits ? (contended ? "contended" : "yes") : "no";
    const first = fits ? [node, verdict, String(score)] : [node, verdict, "-"];
    const details = [...(why === undefined || reason !== undefined ? [] : [why]), ...claims.flatMap(claimLines)];
    return [[...first, details[0] ?? ""], ...details.slice(1).map((detail) => ["", "", "", detail])];
  });
  const fitting = nodes.filter(({ fits }) => fits).length;
  return [
    printTable(["NODE", "FITS", "SCORE", "DETAIL"], rows),
    `\nPod ${printable(pod)}: ${fitting} of ${nodes.length} nodes fit\n`,
    ...placings.flatMap(placingLines).map((line) => `${line}\n`),
    ...sentences(explanation).map((sentence) => `${printable(sentence)}\n`),
  ].join("");
}

function sentences({ notes, reason, suggestion }: Answer): string[] {
  return [
    ...notes.map((note) => `Note: ${note}`),
    ...(reason === undefined ? [] : [`On every node: ${reason}`]),
    ...(suggestion === undefined ? [] : [`Would help: ${suggestion}`]),
  ];
}
