/**
 * Faults planted on purpose: a core that does not read, or forgets, one thing. `npm run oracle -- --plants` says how many clusters
 * each took to be found; one that is never found would mean that the oracle does not look there.
 */
import { Core } from "./core.ts";
import type { Answer } from "./naive.ts";
import type { ClaimLine, FilterLine, Line, Requirement, VolumeLine } from "./script.ts";

export interface Plant {
  /** After "a core that". */
  readonly name: string;
  /** What the core reads instead of the line; undefined: nothing. */
  readonly edit?: (line: Line) => Line | undefined;
  readonly answer?: (answer: Answer) => Answer;
}

const volumes = (edit: (line: VolumeLine) => VolumeLine) => (line: Line) => (line.verb === "pv" ? edit(line) : line);
const claims = (edit: (line: ClaimLine) => ClaimLine) => (line: Line) => (line.verb === "pvc" ? edit(line) : line);
const without = (verb: Line["verb"]) => (line: Line) => (line.verb === verb ? undefined : line);
const affinity = (edit: (one: Requirement) => Requirement) =>
  volumes((line) => {
    const terms = line.terms?.map(({ labels, fields }) => ({ labels: labels.map(edit), fields }));
    return { ...line, ...(terms && { terms }) };
  });
const nodes = (answer: Answer, edit: (node: Answer["nodes"][number]) => Answer["nodes"][number]): Answer => ({
  ...answer,
  nodes: answer.nodes.map(edit),
});

export const plants: readonly Plant[] = [
  { name: "ignores the phase of volumes", edit: volumes((line) => ({ ...line, phase: "Available" })) },
  { name: "takes volumes that are being deleted", edit: volumes((line) => ({ ...line, deleting: false })) },
  { name: "ignores the access modes of claims", edit: claims((line) => ({ ...line, modes: [] })) },
  { name: "ignores volumeMode", edit: (line) => ("block" in line ? { ...line, block: false } : line) },
  { name: "ignores attributes classes", edit: (line) => ("attributes" in line ? { ...line, attributes: "" } : line) },
  {
    name: "ignores the beta annotation",
    edit: (line) => {
      if (!("beta" in line)) return line;
      const { beta: _, ...rest } = line;
      return rest as Line;
    },
  },
  {
    name: "ignores the selectors of claims",
    edit: claims((line) => {
      const { selector: _, ...rest } = line;
      return rest;
    }),
  },
  {
    name: "ignores matchFields",
    edit: volumes((line) => {
      const terms = line.terms?.map(({ labels }) => ({ labels, fields: [] }));
      return { ...line, ...(terms && { terms }) };
    }),
  },
  {
    name: "reads the first affinity term alone",
    edit: volumes((line) => ({ ...line, ...(line.terms && { terms: line.terms.slice(0, 1) }) })),
  },
  {
    name: "reads Gt as Lt",
    edit: affinity((one) => (one.operator === "Gt" ? { ...one, operator: "Lt" } : one)),
  },
  {
    name: "reads DoesNotExist as Exists",
    edit: affinity((one) => (one.operator === "DoesNotExist" ? { ...one, operator: "Exists" } : one)),
  },
  {
    name: "does not look at the uid in a claimRef",
    edit: volumes((line) => {
      const { claimUid: _, ...rest } = line;
      return rest;
    }),
  },
  {
    name: "does not see reservations",
    edit: volumes((line) => {
      const { claim: _, claimUid: __, ...rest } = line;
      return rest;
    }),
  },
  {
    name: "compares sizes as doubles",
    edit: (line) => ("bytes" in line ? { ...line, bytes: BigInt(Number(line.bytes)) } : line),
  },
  {
    name: "leaves no volume to the pending claim that names it",
    edit: claims((line) => (line.half ? { ...line, volume: "v9" } : line)),
  },
  {
    name: "ignores selected-node",
    edit: claims((line) => {
      const { selected: _, ...rest } = line;
      return rest;
    }),
  },
  { name: "ignores allowedTopologies", edit: (line) => (line.verb === "class" ? { ...line, topologies: [] } : line) },
  {
    name: "believes capacity of drivers that do not publish it",
    edit: (line) => (line.verb === "driver" ? { ...line, capacity: true } : line),
  },
  { name: "does not read CSINodes", edit: without("csinode") },
  {
    name: "ignores maximumVolumeSize",
    edit: (line) => {
      if (line.verb !== "capacity") return line;
      const { max: _, ...rest } = line;
      return rest;
    },
  },
  {
    name: "takes any of several capacity objects",
    edit: (line) => (line.verb === "capacity" ? { ...line, created: "2026-01-01T00:00:00Z" } : line),
  },
  { name: "never holds", edit: without("hold") },
  { name: "never assumes", edit: without("assume") },
  { name: "never forgets", edit: without("forget") },
  { name: "has a clock that stands still", edit: without("wait") },
  { name: "misses deletions", edit: without("delete") },
  {
    name: "calls nothing contended",
    answer: (answer) => nodes(answer, (node) => ({ ...node, contended: false })),
  },
  {
    name: "counts no surplus",
    answer: (answer) => nodes(answer, (node) => ({ ...node, surplus: 0 })),
  },
  {
    name: "gives the last reason first",
    answer: (answer) => nodes(answer, (node) => ({ ...node, text: node.text.split(", ").reverse().join(", ") })),
  },
  {
    name: "says noMatchingVolume where siblings have the volumes",
    answer: (answer) =>
      nodes(answer, (node) => ({ ...node, reason: node.reason?.replace("notEnoughVolumes", "noMatchingVolume") })),
  },
];

export class PlantedCore extends Core {
  readonly #plant: Plant;

  constructor(plant: Plant) {
    super();
    this.#plant = plant;
  }

  override apply(line: Exclude<Line, FilterLine>): void {
    const read = this.#plant.edit ? this.#plant.edit(line) : line;
    if (read && read.verb !== "filter") super.apply(read);
  }

  override filter(line: Pick<FilterLine, "pod" | "claims">): Answer {
    const answer = super.filter(line);
    return this.#plant.answer ? this.#plant.answer(answer) : answer;
  }
}
