/**
 * What the oracle and the core are both asked: a cluster as a list of commands, each of which is one line of a `.case` file. A
 * counterexample is therefore a case as it stands. test/support/world.ts reads the lines.
 */

export interface Requirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt";
  readonly values: readonly string[];
}

/** Requirements on labels and on the field metadata.name, of which all must hold. */
export interface Term {
  readonly labels: readonly Requirement[];
  readonly fields: readonly Requirement[];
}

export interface NodeLine {
  readonly verb: "node";
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface ClassLine {
  readonly verb: "class";
  readonly name: string;
  readonly provisioner: string;
  readonly mode: "WaitForFirstConsumer" | "Immediate" | "none";
  /** Terms of allowedTopologies; none allows every node. */
  readonly topologies: readonly (readonly Requirement[])[];
}

export interface VolumeLine {
  readonly verb: "pv";
  readonly name: string;
  readonly bytes: bigint;
  readonly class: string;
  /** The class by the beta annotation, which comes first. */
  readonly beta?: string;
  readonly modes: readonly string[];
  readonly block: boolean;
  readonly phase: string;
  /** Absent: reachable from every node. */
  readonly terms?: readonly Term[];
  /** Name, or namespace/name, of the claim in claimRef. */
  readonly claim?: string;
  readonly claimUid?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly attributes: string;
  readonly deleting: boolean;
  /** Annotation pv.kubernetes.io/provisioned-by. */
  readonly madeBy?: string;
}

export interface ClaimLine {
  readonly verb: "pvc";
  readonly name: string;
  /** Absent where the claim asks for no size. */
  readonly bytes?: bigint;
  readonly class: string;
  readonly beta?: string;
  readonly modes: readonly string[];
  readonly block: boolean;
  readonly selector?: readonly Requirement[];
  readonly volume?: string;
  /** It names its volume, and the PV controller has not finished. */
  readonly half: boolean;
  readonly selected?: string;
  readonly attributes: string;
  readonly deleting: boolean;
  readonly lost: boolean;
  /** UID of the Pod that controls it. */
  readonly owner?: string;
}

export interface DriverLine {
  readonly verb: "driver";
  readonly name: string;
  readonly capacity: boolean;
}

export interface CsiNodeLine {
  readonly verb: "csinode";
  readonly name: string;
  readonly drivers: readonly string[];
}

export interface CapacityLine {
  readonly verb: "capacity";
  readonly name: string;
  readonly class: string;
  /** nodeTopology: absent, it is reachable from no node; without requirements, from all. */
  readonly topology?: readonly Requirement[];
  readonly capacity?: bigint;
  readonly max?: bigint;
  readonly created: string;
}

export type ObjectLine = NodeLine | ClassLine | VolumeLine | ClaimLine | DriverLine | CsiNodeLine | CapacityLine;

export const kindOf = {
  node: "node",
  class: "class",
  pv: "volume",
  pvc: "claim",
  driver: "driver",
  csinode: "csiNode",
  capacity: "capacity",
} as const;

export interface DeleteLine {
  readonly verb: "delete";
  readonly kind: (typeof kindOf)[keyof typeof kindOf];
  readonly name: string;
}

export interface FilterLine {
  readonly verb: "filter";
  readonly pod: string;
  /** A name with a leading "~" is a generic ephemeral volume. */
  readonly claims: readonly string[];
}

export interface HoldLine {
  readonly verb: "hold";
  readonly pod: string;
  readonly claims: readonly string[];
  readonly nodes: readonly string[];
}

export interface AssumeLine {
  readonly verb: "assume";
  readonly pod: string;
  readonly claims: readonly string[];
  readonly node: string;
}

export type PromiseLine =
  | HoldLine
  | AssumeLine
  | { readonly verb: "forget"; readonly pod: string }
  | { readonly verb: "wait"; readonly seconds: number };

/** What others write next: what is assumed for a Pod, or a volume for a claim and that the two are bound. */
export type OthersLine =
  | { readonly verb: "written"; readonly pod: string }
  /** `on` where the provisioner makes it elsewhere than it was told to. */
  | { readonly verb: "finished"; readonly claim: string; readonly on?: string };

export type Line = ObjectLine | DeleteLine | FilterLine | PromiseLine;
/** Lines of a case; where others write, which lines come of it is known only when it runs. */
export type Script = readonly (Line | OthersLine)[];

export function render(line: Line): string {
  const words = wordsOf(line).filter((word) => word !== "");
  return [line.verb, ...words].join(" ");
}

function wordsOf(line: Line): string[] {
  switch (line.verb) {
    case "node":
      return [line.name, ...labelWords(line)];
    case "class":
      return classWords(line);
    case "pv":
      return volumeWords(line);
    case "pvc":
      return claimWords(line);
    case "driver":
      return [line.name, line.capacity ? "capacity" : ""];
    case "csinode":
      return [line.name, ...line.drivers];
    case "capacity":
      return capacityWords(line);
    case "delete":
      return [line.kind, keyOf(line.kind, line.name)];
    case "filter":
      return [line.pod, ...line.claims];
    case "hold":
      return [line.pod, ...line.nodes, ":", ...line.claims];
    case "assume":
      return [line.pod, line.node, ":", ...line.claims];
    case "forget":
      return [line.pod];
    case "wait":
      return [String(line.seconds)];
  }
}

/** The hostname label is the node's name unless it is said. */
function labelWords({ name, labels }: NodeLine): string[] {
  const said = Object.entries(labels).filter(([key, value]) => key !== hostname || value !== name);
  return said.map(([key, value]) => `${key}=${value}`);
}

function classWords({ name, provisioner, mode, topologies }: ClassLine): string[] {
  const terms = topologies.map(
    (term) => `topology=${term.map(({ key, values }) => `${key}:${values.join("|")}`).join(",")}`,
  );
  return [name, `provisioner=${provisioner}`, mode === "WaitForFirstConsumer" ? "" : `mode=${mode}`, ...terms];
}

function volumeWords(line: VolumeLine): string[] {
  const { name, terms, claim, claimUid, labels, madeBy } = line;
  return [
    name,
    renderBytes(line.bytes),
    ...sharedWords(line),
    `phase=${line.phase}`,
    terms ? affinityWord(terms) : "",
    claim === undefined ? "" : `for=${claim}`,
    claimUid === undefined ? "" : `uid=${claimUid}`,
    ...Object.entries(labels).map(([key, value]) => `label=${key}:${value}`),
    madeBy === undefined ? "" : `made=${madeBy}`,
  ];
}

function claimWords(line: ClaimLine): string[] {
  const { name, bytes, selector, volume, selected, owner } = line;
  return [
    name,
    bytes === undefined ? "-" : renderBytes(bytes),
    ...sharedWords(line),
    selector ? `select=${requirementsText(selector)}` : "",
    volume === undefined ? "" : `volume=${volume}`,
    line.half ? "half" : "",
    selected === undefined ? "" : `selected=${selected}`,
    line.lost ? "phase=Lost" : "",
    owner === undefined ? "" : `owner=${owner}`,
  ];
}

function sharedWords(line: VolumeLine | ClaimLine): string[] {
  const { beta, modes, block, attributes, deleting } = line;
  return [
    `class=${line.class}`,
    beta === undefined ? "" : `beta=${beta}`,
    modes.join() === "RWO" ? "" : `modes=${modes.join()}`,
    block ? "block" : "",
    attributes === "" ? "" : `vac=${attributes}`,
    deleting ? "deleting" : "",
  ];
}

function capacityWords({ name, class: className, topology, capacity, max, created }: CapacityLine): string[] {
  return [
    name,
    className,
    topology ? "*" : "-",
    capacity === undefined ? "" : renderBytes(capacity),
    topology && topology.length > 0 ? `select=${requirementsText(topology)}` : "",
    max === undefined ? "" : `max=${renderBytes(max)}`,
    `created=${created}`,
  ];
}

export const hostname = "kubernetes.io/hostname";

function affinityWord(terms: readonly Term[]): string {
  const [term] = terms;
  const [requirement] = term?.labels ?? [];
  const isOneHost = terms.length === 1 && term?.labels.length === 1 && term.fields.length === 0;
  if (isOneHost && requirement?.key === hostname && requirement.operator === "In" && requirement.values.length === 1) {
    return `on=${requirement.values[0]}`;
  }
  return `affinity=${terms.map((one) => [requirementsText(one.labels), requirementsText(one.fields, "@")].filter((text) => text !== "").join(",")).join(";")}`;
}

function requirementsText(requirements: readonly Requirement[], prefix = ""): string {
  return requirements
    .map(({ key, operator, values }) =>
      [`${prefix}${key}`, operator, ...(values.length > 0 ? [values.join("|")] : [])].join(":"),
    )
    .join(",");
}

const gibibyte = 1n << 30n;

export function renderBytes(bytes: bigint): string {
  return bytes > 0n && bytes % gibibyte === 0n ? `${bytes / gibibyte}Gi` : String(bytes);
}

function keyOf(kind: DeleteLine["kind"], name: string): string {
  if (kind === "claim") return `d/${name}`;
  return kind === "capacity" ? `kube-system/${name}` : name;
}
