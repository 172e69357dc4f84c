/**
 * Random clusters from small domains: few names, few sizes, few labels, so that claims compete, sizes tie and names collide. Each
 * cluster draws which kinds of trouble it has, so that many have only one or two and still fit somewhere.
 */
import { Random } from "./random.ts";
import {
  type CapacityLine,
  type ClaimLine,
  type ClassLine,
  hostname,
  type Line,
  type NodeLine,
  type ObjectLine,
  type Requirement,
  type Script,
  type Term,
  type VolumeLine,
} from "./script.ts";

const gibibyte = 1n << 30n;
/** From here on doubles cannot tell neighbours apart. */
const huge = 1n << 53n;

const troubles = [
  "affinity",
  "modes",
  "block",
  "selector",
  "phase",
  "reserved",
  "named",
  "attributes",
  "beta",
  "bound",
  "selected",
  "odd claim",
  "odd class",
  "ephemeral",
  "huge",
  "static made-up",
  "change",
] as const;

type Trouble = (typeof troubles)[number];

/** Besides all things at once: many ways to match, many pools on a node, many promises, many demands that come and settle. */
const moods = ["mixed", "mixed", "matching", "packing", "crowd", "provisioning"] as const;

type Mood = (typeof moods)[number];

/** What one cluster is drawn from. */
interface Draw {
  readonly random: Random;
  readonly mood: Mood;
  readonly has: ReadonlySet<Trouble>;
  readonly nodes: readonly string[];
  readonly volumes: readonly string[];
  /** Of the Pod, of others, or of both. */
  readonly claims: readonly string[];
  readonly classes: readonly string[];
  readonly driver: string;
}

export function generate(seed: number): Script {
  const random = new Random(seed);
  const mood = random.pick(moods);
  const has = drawTroubles(random, mood);
  const isCalm = mood !== "mixed";
  const dynamic = random.pick([[], ["csi"], ["csi"], ["csi", "csi2"]]);
  const isStatic = dynamic.length === 0 || random.once(2);
  const mixed = [...(isStatic ? ["local"] : []), ...dynamic, ...(has.has("static made-up") ? ["made-up"] : [])];
  const classes = {
    mixed,
    matching: ["local"],
    packing: ["csi"],
    provisioning: ["csi"],
    crowd: random.pick([["local"], ["csi"], ["local", "csi"]]),
  };
  const volumes = { mixed: [0, 6], matching: [4, 6], packing: [0, 2], crowd: [1, 5], provisioning: [0, 0] }[mood];
  const draw: Draw = {
    random,
    mood,
    has,
    nodes: ["n1", "n2", "n3", "n4"].slice(0, random.int(1, isCalm ? 2 : 4)),
    volumes: random
      .shuffled(["v0", "v1", "v2", "v3", "v4", "v5"])
      .slice(0, random.int(volumes[0] ?? 0, volumes[1] ?? 0)),
    claims: ["c0", "c1", "c2", "c3", "x0", "x1"],
    classes: classes[mood],
    driver: isCalm ? "capacity" : random.pick(["capacity", "capacity", "silent", "none"]),
  };
  const objects = random.shuffled(objectsOf(draw));
  return [...(has.has("change") ? withChanges(draw, objects) : objects), ...questionsOf(draw, objects)];
}

function drawTroubles(random: Random, mood: Mood): ReadonlySet<Trouble> {
  const ofMatching = ["affinity", "modes", "selector", "attributes", "block", "huge", "reserved", "beta"] as const;
  const some = {
    mixed: () => random.some(troubles, random.pick([3, 6, 12])),
    matching: () => random.some(ofMatching, 3),
    packing: () => random.some(["change", "selected", "affinity"] as const, 4),
    provisioning: () => [],
    crowd: () => random.some(["change", "selected", "modes", "selector", "bound"] as const, 4),
  };
  return new Set(some[mood]());
}

function objectsOf(draw: Draw): ObjectLine[] {
  const { random, nodes, volumes, claims } = draw;
  return [
    ...nodes.map((name) => drawNode(draw, name)),
    ...drawClasses(draw),
    ...volumes.map((name) => drawVolume(draw, name)),
    ...claims.filter(() => !draw.has.has("odd claim") || !random.once(8)).map((name) => drawClaim(draw, name)),
    ...drawEphemeral(draw),
    ...drawDrivers(draw),
    ...drawCapacities(draw),
  ];
}

function drawNode({ random }: Draw, name: string): NodeLine {
  const labels: Record<string, string> = { [hostname]: name, zone: random.pick(["a", "a", "b"]) };
  if (random.once(2)) labels["rank"] = random.pick(["1", "2", "10", "x"]);
  if (random.once(3)) labels["ssd"] = "";
  // The hostname label need not be the node's name.
  if (random.once(8)) labels[hostname] = `${name}.example`;
  return { verb: "node", name, labels };
}

function drawClasses({ random, has, classes }: Draw): ClassLine[] {
  const waits = { verb: "class", mode: "WaitForFirstConsumer" } as const;
  const lines: ClassLine[] = [];
  const provisioners = { csi: "csi.example", csi2: "csi2.example", "made-up": "example.com/made-up" };
  for (const [name, provisioner] of Object.entries(provisioners)) {
    if (!classes.includes(name)) continue;
    const topologies = random.once(6) ? drawTopologies(random) : [];
    lines.push({ ...waits, name, provisioner, topologies });
  }
  if (has.has("odd class")) {
    const provisioner = "csi.example";
    lines.push({ ...waits, name: "now", provisioner, mode: "Immediate", topologies: [] });
    lines.push({ ...waits, name: "unset", provisioner, mode: "none", topologies: [] });
  }
  return lines;
}

function drawTopologies(random: Random): Requirement[][] {
  const zone = (): Requirement => ({ key: "zone", operator: "In", values: random.pick([["a"], ["b"], ["a", "b"]]) });
  const rank = (): Requirement => ({ key: "rank", operator: "In", values: random.pick([["1"], ["2", "10"]]) });
  return random.pick([[[zone()]], [[zone(), rank()]], [[zone(), rank()], [rank()]]]);
}

const accessModes = [["RWO"], ["RWO"], ["RWO", "RWX"], ["RWO", "ROX", "RWX"], ["ROX"], ["RWOP"]];

function drawShared(draw: Draw) {
  const { random, has, classes } = draw;
  const named = random.pick(classes);
  const isBeta = has.has("beta") && random.once(3);
  return {
    class: isBeta ? random.pick(["local", "gone"]) : named,
    ...(isBeta && { beta: named }),
    modes: has.has("modes") ? random.pick(accessModes) : ["RWO"],
    block: has.has("block") && random.once(3),
    attributes: has.has("attributes") ? random.pick(["", "gold", "silver"]) : "",
    deleting: false,
  };
}

function drawBytes({ random, has }: Draw): bigint {
  if (has.has("huge") && random.once(2)) return huge + BigInt(random.int(0, 4));
  return BigInt(random.int(1, 8)) * gibibyte;
}

function drawVolume(draw: Draw, name: string): VolumeLine {
  const { random, has } = draw;
  const reserved = has.has("reserved") && random.once(2);
  const phase = random.pick(["", "Pending", "Bound", "Released", "Failed"]);
  return {
    verb: "pv",
    name,
    bytes: drawBytes(draw),
    ...drawShared(draw),
    phase: has.has("phase") && random.once(3) ? phase : "Available",
    ...drawAffinity(draw),
    ...(reserved && { ...drawReservation(draw), ...(random.once(2) && { bytes: 8n * gibibyte }) }),
    labels: random.once(2) ? { kind: random.pick(["p", "q"]) } : {},
    deleting: has.has("phase") && random.once(6),
    ...(random.once(8) && { madeBy: random.pick(["csi.example", "example.com/made-up"]) }),
  };
}

function drawReservation({ random, claims }: Draw): { claim: string; claimUid?: string } {
  const claim = random.pick([...claims, "c0", "c0", "c0", "c0", "c1", "c9", "e/c0"]);
  const claimUid = random.pick([undefined, undefined, `u${claim}`, `u${claim}`, "uother"]);
  return { claim, ...(claimUid !== undefined && { claimUid }) };
}

function drawAffinity(draw: Draw): { terms?: readonly Term[] } {
  const { random, has, nodes } = draw;
  const onHost = { key: hostname, operator: "In", values: [random.pick(nodes)] } as const;
  if (!has.has("affinity")) return { terms: [{ labels: [onHost], fields: [] }] };
  if (random.once(5)) return {};
  return { terms: Array.from({ length: random.pick([1, 1, 1, 2]) }, () => drawTerm(draw, onHost)) };
}

function drawTerm({ random, nodes }: Draw, onHost: Requirement): Term {
  const on = (key: string, operator: Requirement["operator"], ...values: string[]): Requirement => ({
    key,
    operator,
    values,
  });
  const labels = random.pick([
    [onHost],
    [on(hostname, "In", ...random.some(nodes), random.pick(nodes))],
    [on("zone", "In", random.pick(["a", "b"]))],
    [on("zone", "In", "a", "b"), on("ssd", random.pick(["Exists", "DoesNotExist"]))],
    [on("zone", "NotIn", random.pick(["a", "b"]))],
    [on("rank", random.pick(["Gt", "Lt"]), random.pick(["0", "1", "2"]))],
    [on("rank", "NotIn", "2"), on("zone", "In", "a")],
    [on("ssd", random.pick(["Exists", "DoesNotExist"]))],
    [],
  ]);
  const fields = random.once(5) ? [on("metadata.name", random.pick(["In", "NotIn"]), random.pick(nodes))] : [];
  return { labels, fields };
}

function drawClaim(draw: Draw, name: string): ClaimLine {
  const { random, has, nodes, volumes } = draw;
  const isOdd = has.has("odd claim") && random.once(6);
  const odd = isOdd ? random.pick(["lost", "deleting", "classless", "sizeless", "gone"]) : "";
  const oddClass =
    has.has("odd class") && random.once(5) ? { class: random.pick(["now", "unset", "gone"]), beta: undefined } : {};
  const { beta, ...shared } = { ...drawShared(draw), ...oddClass };
  const isBound = has.has("bound") && random.once(3);
  const isNamed = !isBound && has.has("named") && random.once(4);
  const volume = random.pick([...volumes, "v9"]);
  const isSelected = !isBound && has.has("selected") && random.once(3);
  const plain: ClaimLine = {
    verb: "pvc",
    name,
    bytes: drawBytes(draw),
    ...shared,
    ...(beta !== undefined && { beta }),
    ...(has.has("selector") && random.once(3) && { selector: drawSelector(random) }),
    ...((isBound || isNamed) && { volume }),
    half: isNamed,
    ...(isSelected && { selected: random.once(6) ? "n9" : random.pick(nodes) }),
    lost: odd === "lost",
    deleting: odd === "deleting" || (isNamed && random.once(4)),
  };
  if (odd === "classless") return { ...plain, class: "" };
  if (odd !== "sizeless") return plain;
  const { bytes: _, ...sizeless } = plain;
  return sizeless;
}

function drawSelector(random: Random): Requirement[] {
  const kind = (operator: Requirement["operator"], ...values: string[]): Requirement => ({
    key: "kind",
    operator,
    values,
  });
  return random.pick([
    [kind("In", "p")],
    [kind("In", "p", "q")],
    [kind("NotIn", "p")],
    [kind("Exists")],
    [kind("DoesNotExist")],
    [kind("Exists"), kind("NotIn", "q")],
  ]);
}

/** Claims of generic ephemeral volumes, of the asking Pod or of an earlier one of its name. */
function drawEphemeral(draw: Draw): ClaimLine[] {
  const { random, has } = draw;
  if (!has.has("ephemeral") || random.once(5)) return [];
  return [{ ...drawClaim(draw, "p-e"), owner: random.pick(["up", "up", "up", "uearlier"]) }];
}

function drawDrivers({ random, nodes, driver }: Draw): ObjectLine[] {
  if (driver === "none") return [];
  const lines: ObjectLine[] = [
    { verb: "driver", name: "csi.example", capacity: driver === "capacity" },
    { verb: "driver", name: "csi2.example", capacity: random.once(2) },
  ];
  const registered = random.once(4) ? random.some(nodes) : nodes;
  if (random.once(4)) return lines;
  return [
    ...lines,
    ...registered.map((name) => ({ verb: "csinode" as const, name, drivers: ["csi.example", "csi2.example"] })),
  ];
}

function drawCapacities(draw: Draw): CapacityLine[] {
  const { random, nodes } = draw;
  const dynamic = draw.classes.filter((name) => name.startsWith("csi"));
  if (dynamic.length === 0) return [];
  const names = ["k0", "k1", "k2", "k3", "k4"].slice(0, random.int(draw.mood === "mixed" ? 0 : 2, 5));
  const ofNode = (node: string): Requirement[] => [{ key: hostname, operator: "In", values: [node] }];
  return names.map((name) => {
    const topology = random.pick<readonly Requirement[] | null>([
      ofNode(random.pick(nodes)),
      ofNode(random.pick(nodes)),
      [{ key: "zone", operator: "In", values: [random.pick(["a", "b"])] }],
      [{ key: "ssd", operator: "DoesNotExist", values: [] }],
      [],
      ...(random.once(4) ? [null] : []),
    ]);
    const size = (): bigint => BigInt(random.int(0, 16)) * gibibyte;
    const [capacity, max] = random.pick([
      [size(), undefined],
      [size(), undefined],
      [size(), size()],
      [undefined, size()],
      [undefined, undefined],
    ]);
    return {
      verb: "capacity",
      name,
      class: random.pick(dynamic),
      ...(topology && { topology }),
      ...(capacity !== undefined && { capacity }),
      ...(max !== undefined && { max }),
      created: random.pick(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]),
    };
  });
}

/** Objects that change, go and come back before anything is asked: every index must follow. */
function withChanges(draw: Draw, objects: readonly ObjectLine[]): Line[] {
  const { random } = draw;
  const lines: Line[] = [...objects];
  for (let change = random.int(1, 6); change > 0; change--) lines.push(drawChange(draw));
  return lines;
}

function drawChange(draw: Draw): Line {
  const { random, nodes, volumes, claims } = draw;
  const volume = random.pick([...volumes, "v0"]);
  const gone = random.pick<Line>([
    { verb: "delete", kind: "volume", name: volume },
    { verb: "delete", kind: "node", name: random.pick(nodes) },
    { verb: "delete", kind: "capacity", name: random.pick(["k0", "k1"]) },
    { verb: "delete", kind: "claim", name: random.pick(claims) },
    { verb: "delete", kind: "csiNode", name: random.pick(nodes) },
    { verb: "delete", kind: "driver", name: "csi.example" },
  ]);
  const capacities = drawCapacities(draw);
  return random.pick<Line>([
    gone,
    drawNode(draw, random.pick(nodes)),
    drawVolume(draw, volume),
    drawVolume(draw, volume),
    ...capacities.slice(0, 1),
  ]);
}

/** A driver looks again and finds less, or does not say that it is less. */
function republished({ random }: Draw, objects: readonly ObjectLine[]): ObjectLine[] {
  const published = objects.filter((line) => line.verb === "capacity");
  if (published.length === 0) return [];
  const { max: _, ...line } = random.pick(published);
  const left = (line.capacity ?? 0n) - BigInt(random.int(0, 8)) * gibibyte;
  return [{ ...line, capacity: left > 0n ? left : 0n }];
}

/** The claim and the volume that a provisioner made for it. */
function farewellOf(claim: string): Line[] {
  return [
    { verb: "delete", kind: "claim", name: claim },
    { verb: "delete", kind: "volume", name: `m-${claim}` },
  ];
}

/** A Pod promises; some of what follows on it. */
function drawPromise(draw: Draw, claims: readonly string[], objects: readonly ObjectLine[]): Script[number][] {
  const { random, nodes, mood } = draw;
  const pod = random.pick(["o1", "o2", "p"]);
  const isBusy = mood === "provisioning";
  const lines: Script[number][] = [];
  if (random.once(isBusy ? 5 : 2)) {
    lines.push({ verb: "hold", pod, nodes: random.some(nodes).concat(random.pick(nodes)), claims });
  } else lines.push({ verb: "assume", pod, node: random.pick(nodes), claims });
  if (isBusy ? !random.once(4) : random.once(2)) lines.push({ verb: "written", pod });
  if (isBusy ? !random.once(4) : random.once(3)) {
    const claim = random.pick([...claims, ...claims, ...draw.claims]);
    lines.push({ verb: "finished", claim, ...(random.once(8) && { on: random.pick(nodes) }) });
    if (random.once(8)) lines.push(...random.shuffled(farewellOf(claim)));
  }
  if (random.once(isBusy ? 2 : 4)) lines.push(...republished(draw, objects));
  if (random.once(8)) lines.push({ verb: "forget", pod: random.pick(["o1", "o2", "p"]) });
  if (random.once(isBusy ? 4 : 8)) lines.push({ verb: "wait", seconds: random.pick([30, 60, 120, 120]) });
  return lines;
}

/** Other Pods promise, writes show, time passes; then the Pod asks. */
function questionsOf(draw: Draw, objects: readonly ObjectLine[]): Script[number][] {
  const { random, has } = draw;
  const lines: Script[number][] = [];
  const others = {
    mixed: [0, 0, 1, 2],
    matching: [0, 0, 1, 2],
    packing: [0, 1, 2],
    crowd: [2, 3, 4],
    provisioning: [2, 3, 4, 5],
  };
  let claims: readonly string[] = [];
  for (let left = random.pick(others[draw.mood]); left > 0; left--) {
    // Often the claims of the last Pod again: shared, or by the Pod itself.
    if (claims.length === 0 || !random.once(3)) claims = random.shuffled(draw.claims).slice(0, random.pick([1, 1, 2]));
    lines.push(...drawPromise(draw, claims, objects));
    if (has.has("change") && random.once(2)) lines.push(drawChange(draw));
  }
  const mounted = random.shuffled(["c0", "c1", "c2", "c3"]).slice(0, random.pick([1, 2, 2, 3, 3, 4, 4]));
  const extra = [...(random.once(12) ? ["x0"] : []), ...(has.has("ephemeral") ? ["~e"] : [])];
  const all = [...mounted, ...extra].slice(0, 4);
  if (random.once(40)) all.push(random.pick(["c9", ...mounted]));
  lines.push({ verb: "filter", pod: "p", claims: random.once(200) ? [] : all });
  return lines;
}
