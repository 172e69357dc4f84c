/** `berth capacity`: what there is of each class, and on each node, from a running Berth or from files. */
import { Translator } from "../apis/kubernetes.ts";
import type { Reach } from "../scheduling/places.ts";
import { type Bytes, formatBytes } from "../scheduling/quantity.ts";
import { nodeAnnotations, stateFor } from "../server/berth.ts";
import {
  type CapacityPage,
  capacityRows,
  type PrintableRow,
  printableRow,
  readQuestion,
} from "../server/capacity-page.ts";
import { jsonText, Misuse, parseOptions, readOutput, runCommand } from "./arguments.ts";
import { readConfigFile } from "./config-file.ts";
import { askDebug, type DebugFlags, debugHelp, debugOptions } from "./debug-client.ts";
import type { Command, CommandIo } from "./io.ts";
import { readManifests } from "./manifests.ts";
import { loadState } from "./simulate-input.ts";
import { printTable } from "./table.ts";

const help = `Usage: berth capacity [--class C] [--node N] [--by class|node] [--url URL | -f FILE...] [-o table|json]

Shows what there is of each class: total, bound, reserved, free, the largest free volume, and what is stranded. With --class or
--node, on each node. docs/capacity.md says what the words mean.

      --class NAME       this class alone
      --node NAME        what this node reaches
      --by class|node    a row a class, or a row a class and node
${debugHelp}  -f, --file FILE        from files instead, as berth simulate reads them; may be repeated
      --config FILE      with -f: Berth's configuration, for pools and capacity that nodes carry
  -o, --output FORMAT    "table" (default) or "json"

Exits with 0, or with 2 when nobody could say.
`;

export const capacityCommand: Command = (argv, io) => runCommand("capacity", io, () => capacity(argv, io));

type Shown = Pick<CapacityPage, "by" | "notReady"> & { readonly rows: readonly PrintableRow[] };

async function capacity(argv: readonly string[], io: CommandIo): Promise<number> {
  const options = parseOptions(argv, {
    ...debugOptions,
    class: { type: "string" },
    node: { type: "string" },
    by: { type: "string" },
    file: { type: "string", short: "f", multiple: true },
    config: { type: "string" },
    output: { type: "string", short: "o", default: "table" },
    help: { type: "boolean", short: "h" },
  });
  if (options.help) {
    io.stdout.write(help);
    return 0;
  }
  const output = readOutput(options.output, ["table", "json"]);
  const { file, config } = options;
  if (file && options.url !== undefined) throw new Misuse("-f and --url: from files, or from a running Berth");
  if (!file && config !== undefined) throw new Misuse("--config goes with -f: a running Berth has its own");
  const query = new URLSearchParams();
  for (const key of ["class", "node", "by"] as const) if (options[key] !== undefined) query.set(key, options[key]);
  const shown = file ? fromFiles(file, config, query) : await fromBerth(io, options, query);
  io.stdout.write(output === "json" ? jsonText(shown) : printed(shown));
  if (shown.notReady === undefined) return 0;
  throw new Misuse(`Berth is not ready, so what it said may be out of date: ${shown.notReady}`);
}

function fromFiles(files: readonly string[], configPath: string | undefined, query: URLSearchParams): Shown {
  const config = readConfigFile("--config", configPath);
  const state = stateFor({ now: () => 0 }, config);
  loadState(state, readManifests(files), new Translator({ nodeAnnotations: nodeAnnotations(config) }));
  const asked = readQuestion(state, query);
  if (typeof asked === "string") throw new Misuse(asked);
  const steps = capacityRows(state, asked);
  for (;;) {
    const step = steps.next();
    if (step.done) return { by: asked.by, rows: step.value.map(printableRow) };
  }
}

/** Page by page. */
async function fromBerth(io: CommandIo, flags: DebugFlags, query: URLSearchParams): Promise<Shown> {
  const rows: PrintableRow[] = [];
  for (;;) {
    const { status, json } = await askDebug(io.runtime, flags, `/debug/capacity?${query}`);
    if (status !== 200) throw new Misuse(String((json as { readonly message?: unknown }).message));
    const page = json as CapacityPage;
    rows.push(...page.rows);
    if (page.rows.length === 0 || rows.length >= page.count) {
      return { by: page.by, rows, ...(page.notReady !== undefined && { notReady: page.notReady }) };
    }
    query.set("from", String(rows.length));
  }
}

function printed({ by, rows }: Shown): string {
  const place = by === "class" ? "NODES" : "NODE";
  const head = ["CLASS", place, "VOLUMES", "TOTAL", "BOUND", "RESERVED", "FREE", "LARGEST", "STRANDED"];
  const cells = rows.map((row) => [
    row.class === "" ? "(none)" : row.class,
    by === "class" ? countText(row.on) : placeText(row.on),
    String(row.volumes),
    ...[row.total, row.bound, row.reserved, row.free, row.largest, row.stranded].map(sizeText),
  ]);
  return rows.length === 0 ? "No volumes, and no capacity is published\n" : printTable(head, cells);
}

function sizeText(bytes: string): string {
  return bytes === "0" ? "-" : formatBytes(BigInt(bytes) as Bytes);
}

function countText({ everywhere, count }: Reach): string {
  return everywhere ? "all" : String(count);
}

function placeText({ everywhere, count, nodes }: Reach): string {
  if (everywhere) return "(all)";
  if (count === 0) return "(no node)";
  return count > nodes.length ? `${nodes.join(",")},+${count - nodes.length}` : nodes.join(",");
}
