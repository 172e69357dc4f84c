/** `berth explain`: why a Pod is where it is, or nowhere, asked of a running Berth. */
import type { PodReport } from "../server/explain.ts";
import { jsonText, Misuse, parseWithWords, readOutput, runCommand } from "./arguments.ts";
import { askDebug, debugHelp, debugOptions } from "./debug-client.ts";
import { explainTable } from "./explain-table.ts";
import type { Command, CommandIo } from "./io.ts";

const help = `Usage: berth explain NAMESPACE/POD [-n NAMESPACE] [--url URL] [-o table|json]

Asks a running Berth why a Pod is pending: what each of its claims could have and who has it, what is said of the nodes, why
kube-scheduler does not offer the node that its volumes are on, and the smallest change that would help.

  -n, --namespace NS     where the Pod is given without one
${debugHelp}  -o, --output FORMAT    "table" (default) or "json"

Exits with 0 when at least one node fits or the Pod has its node, 1 when none fits, 2 when nobody could say.
`;

export const explainCommand: Command = (argv, io) => runCommand("explain", io, () => explain(argv, io));

async function explain(argv: readonly string[], io: CommandIo): Promise<number> {
  const { options, words } = parseWithWords(argv, {
    ...debugOptions,
    namespace: { type: "string", short: "n" },
    output: { type: "string", short: "o", default: "table" },
    help: { type: "boolean", short: "h" },
  });
  if (options.help) {
    io.stdout.write(help);
    return 0;
  }
  const output = readOutput(options.output, ["table", "json"]);
  const [namespace, name] = readPod(words, options.namespace);
  const path = `/debug/explain/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  const { status, json } = await askDebug(io.runtime, options, path);
  if (status !== 200) throw new Misuse(String((json as { readonly message?: unknown }).message));
  const report = json as PodReport;
  io.stdout.write(output === "json" ? jsonText(report) : explainTable(report));
  if (report.notReady !== undefined) {
    throw new Misuse(`Berth is not ready, so what it said may be out of date: ${report.notReady}`);
  }
  return report.assignedTo !== undefined || report.schedulable ? 0 : 1;
}

/** @throws Misuse */
function readPod(words: readonly string[], namespace: string | undefined): readonly [string, string] {
  const [word, ...more] = words;
  if (word === undefined || more.length > 0) throw new Misuse('name one Pod, as "NAMESPACE/POD"');
  const parts = word.replace(/^(pods?|po)\//, "").split("/");
  const [first = "", second] = parts;
  const isWhole = parts.length === 2 && first !== "" && second !== "";
  if (isWhole && second !== undefined && (namespace === undefined || namespace === first)) return [first, second];
  if (parts.length === 1 && first !== "") return [namespace ?? "default", first];
  throw new Misuse(`${word}: name the Pod as "NAMESPACE/POD", or as "POD -n NAMESPACE"`);
}
