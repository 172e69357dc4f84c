/** `GET /debug/capacity`: what there is of each class, and of each class on each node. One row a class unless more is asked for. */
import type { HttpReply } from "../runtime/runtime.ts";
import {
  type CapacityFilter,
  type CapacityRow,
  capacityByClass,
  capacityByPlace,
  isClassKnown,
} from "../scheduling/capacity-view.ts";
import { className, nodeName } from "../scheduling/names.ts";
import { nearestName } from "../scheduling/near-name.ts";
import type { ClusterState } from "../scheduling/state.ts";
import { isoTime } from "./explain.ts";
import type { Slices } from "./explain-slices.ts";
import type { Handler, Parts } from "./parts.ts";
import { failureReply, jsonReply } from "./replies.ts";

/** Rows of one reply. */
const rowsMax = 1_000;

export interface CapacityPage {
  readonly at: string;
  /** Why all of this may be out of date. */
  readonly notReady?: string;
  /** "class": one row a class. "node": one row a class and place. */
  readonly by: CapacityBy;
  readonly rows: readonly PrintableRow[];
  /** Rows before these, and rows in all. */
  readonly from: number;
  readonly count: number;
}

export type CapacityBy = "class" | "node";

/** Sizes are bigints, which JSON lacks; as decimal text they stay exact. */
export type PrintableRow = {
  readonly [Field in keyof CapacityRow]: CapacityRow[Field] extends bigint ? string : CapacityRow[Field];
};

export interface CapacityQuestion {
  readonly by: CapacityBy;
  readonly filter: CapacityFilter;
  readonly from: number;
}

/** The query: `class`, `node`, `by` (as told by the other two where it is left out) and `from`. */
export function capacityRoute({ cluster, runtime }: Parts, slices: Slices): Handler {
  return async (request, signal): Promise<HttpReply> => {
    const asked = readQuestion(cluster.state, new URLSearchParams(/\?([^#]*)/.exec(request.path)?.[1]));
    if (typeof asked === "string") return failureReply(404, asked);
    const rows = await slices.run(capacityRows(cluster.state, asked), signal);
    if (!rows) return failureReply(503, "the caller has gone");
    const readiness = cluster.readiness();
    const page: CapacityPage = {
      at: isoTime(runtime.wallTime()),
      ...(!readiness.ready && { notReady: readiness.why }),
      by: asked.by,
      rows: rows.slice(asked.from, asked.from + rowsMax).map(printableRow),
      from: asked.from,
      count: rows.length,
    };
    return jsonReply(`${JSON.stringify(page)}\n`);
  };
}

export function capacityRows(
  state: ClusterState,
  { by, filter }: CapacityQuestion,
): Generator<undefined, CapacityRow[]> {
  return by === "class" ? capacityByClass(state, filter) : capacityByPlace(state, filter);
}

/** What is wrong with it, as text. */
export function readQuestion(state: ClusterState, query: URLSearchParams): CapacityQuestion | string {
  const [name, node, by] = [query.get("class"), query.get("node"), query.get("by")];
  if (name !== null && !isClassKnown(state, name)) return unknown("class", name, state.keys("class"));
  if (node !== null && !state.get("node", node)) return unknown("node", node, state.keys("node"));
  if (by !== null && by !== "class" && by !== "node") return `by=${by}: use "class" or "node"`;
  const from = Number(query.get("from") ?? 0);
  if (!Number.isSafeInteger(from) || from < 0) return `from=${query.get("from")}: not a number of rows`;
  const filter = { ...(name !== null && { class: className(name) }), ...(node !== null && { node: nodeName(node) }) };
  return { by: by ?? (name === null && node === null ? "class" : "node"), filter, from };
}

function unknown(what: string, name: string, known: Iterable<string>): string {
  const near = nearestName(name, [...known].sort());
  return `no ${what} "${name}" is known${near === undefined ? "" : `; did you mean "${near}"?`}`;
}

export function printableRow(row: CapacityRow): PrintableRow {
  const fields = Object.entries(row).map(([key, value]) => [key, typeof value === "bigint" ? String(value) : value]);
  return Object.fromEntries(fields) as PrintableRow;
}
