/** Field reports on what a bind leaves behind, and what it finds when somebody else was there first. */
import { beforeEach, expect, test } from "vitest";
import { filterNodes } from "../../src/scheduling/filter.ts";
import { nodeName, podKey } from "../../src/scheduling/names.ts";
import { type Bind, type Body, World } from "../binding/world.ts";
import { audit } from "../support/auditor.ts";

let world: World;

beforeEach(async () => {
  world = new World();
  await world.nodes("n1", "n2");
});

const bindings = (): Body[] => world.writes.filter(({ path }) => path.endsWith("/binding"));
const volumeWrites = (): Body[] => world.writes.filter(({ path }) => /persistentvolume(claim)?s\//.test(path));
const selectedNode = "volume.kubernetes.io/selected-node";

/** Nodes that pass a filter call of the Pod, as Berth's cache has it now. */
function fitting(pod: string): string[] {
  const { state } = world.berth.cluster;
  const known = state.get("pod", podKey("d", pod));
  if (!known) throw new Error(`no pod ${pod}`);
  const verdict = filterNodes(state, known, ["n1", "n2"].map(nodeName));
  return verdict.kind === "judged" ? verdict.nodes.names.filter((_, index) => verdict.nodes.fits(index)) : [];
}

async function begun(pod: Body): Promise<Bind> {
  await world.start({ bindTimeoutMs: 30_000 });
  const bind = world.bind(pod, "n1");
  await world.runtime.settle();
  return bind;
}

const endings: Record<
  string,
  { class?: string; end: (bind: Bind) => Promise<unknown>; answer: RegExp; keeps?: number }
> = {
  "ends well, static": { end: () => world.controlVolumes(), answer: /^ok$/ },
  "ends well, provisioned": { class: "csi", end: () => world.provision(), answer: /^ok$/ },
  "is refused by the provisioner": {
    class: "csi",
    end: () => world.patch("claim", "d/x", { metadata: { annotations: { [selectedNode]: null } } }),
    answer: /was refused/,
  },
  "loses its Pod": { end: () => world.remove("pod", "d/p"), answer: /does not exist/ },
  "loses its claim": { end: () => world.remove("claim", "d/x"), answer: /d\/x/ },
  "loses its claim to the provisioner": { class: "csi", end: () => world.remove("claim", "d/x"), answer: /d\/x/ },
  "loses its volume": { end: () => world.remove("volume", "a"), answer: /volume a/ },
  "loses its node": { end: () => world.remove("node", "n1"), answer: /node n1/ },
  "runs into its deadline": { end: () => world.runtime.advance(30_000), answer: /30/ },
  // What the provisioner was told stands, and goes on to count, until it answers.
  "runs into its deadline, provisioning": {
    class: "csi",
    end: () => world.runtime.advance(30_000),
    answer: /30/,
    keeps: 1,
  },
};

test.for(Object.entries(endings))(
  "FR-058, FR-048: a bind that %s leaves no promise behind",
  async ([, { class: name = "local", end, answer, keeps = 0 }]) => {
    await world.pv("a", { on: "n1" });
    await world.pvc("x", { class: name });
    const bind = await begun(await world.pod("p", ["x"]));
    expect([bind.answer, volumeWrites()]).toEqual([undefined, [expect.anything()]]);
    await end(bind);
    await world.runtime.settle();
    expect(bind.answer).toMatch(answer);
    // Long enough for what settles by the clock.
    await world.runtime.advance(300_000);
    const { reservations, pools } = world.berth.cluster.state;
    expect(reservations.dump()).toEqual({ holds: [], assumptions: [] });
    pools.update();
    expect([...pools.demands()]).toHaveLength(keeps);
    expect(world.berth.binder.inProgress()).toEqual([]);
  },
);

test.for([
  ["static", "local"],
  ["provisioned", "csi"],
] as const)(
  "FR-088: while a shared %s claim is being bound for one Pod, the node passes for the other and its bind waits along",
  async ([, name]) => {
    await world.pv("a", { on: "n1" });
    await world.pv("b", { on: "n2" });
    await world.pvc("x", { class: name });
    const p1 = await world.pod("p1", ["x"]);
    const p2 = await world.pod("p2", ["x"]);
    const first = await begun(p1);
    expect(fitting("p2")).toEqual(["n1"]);
    const second = world.bind(p2, "n1");
    await world.runtime.settle();
    expect([first.answer, second.answer, fitting("p2")]).toEqual([undefined, undefined, ["n1"]]);
    await (name === "csi" ? world.provision() : world.controlVolumes());
    expect([first.answer, second.answer]).toEqual(["ok", "ok"]);
    expect(volumeWrites()).toHaveLength(1);
    expect(await audit(world)).toEqual([]);
  },
);

test("FR-088: the other Pod's bind to another node is refused by name, with nothing written", async () => {
  await world.pv("a", { on: "n1" });
  await world.pvc("x");
  const p2 = await world.pod("p2", ["x"]);
  await begun(await world.pod("p1", ["x"]));
  const second = world.bind(p2, "n2");
  await world.runtime.settle();
  expect(second.answer).toMatch(/node n2 .*claim d\/x/);
  expect(volumeWrites()).toHaveLength(1);
});

const foreground: Record<string, { claim: object; volume: object; answer: RegExp }> = {
  "bound the claim where the Pod goes": {
    claim: { volume: "a" },
    volume: { on: "n1", claim: "x" },
    answer: /^ok$/,
  },
  "bound the claim elsewhere": {
    claim: { volume: "a" },
    volume: { on: "n2", claim: "x" },
    answer: /node n1 cannot hold the volumes: .*d\/x.*volumeNodeConflict/,
  },
  "selected the node": { claim: { class: "csi", selectedNode: "n1" }, volume: { on: "n1" }, answer: /^$/ },
  "selected another node": {
    claim: { class: "csi", selectedNode: "n2" },
    volume: { on: "n1" },
    answer: /claim d\/x: selectedOtherNode/,
  },
  "set the claimRef of a volume there": { claim: {}, volume: { on: "n1", claim: "x" }, answer: /^$/ },
  "set the claimRef of a volume elsewhere": {
    claim: {},
    volume: { on: "n2", claim: "x" },
    answer: /claim d\/x: preboundElsewhere/,
  },
};

test.for(Object.entries(foreground))(
  "FR-100: where the in-tree plugin is on as well and has %s, bind accepts it or says clearly why not",
  async ([, { claim, volume, answer }]) => {
    const { metadata } = await world.pvc("x", claim);
    const isTaken = "claim" in volume;
    await world.pv("a", { ...volume, ...(isTaken && { claimUid: metadata.uid, phase: "Available" }) });
    if ("volume" in claim) await world.patch("volume", "a", { status: { phase: "Bound" } }, "/status");
    const bind = await begun(await world.pod("p", ["x"]));
    expect(bind.answer ?? "").toMatch(answer);
    expect(volumeWrites()).toEqual([]);
    if (answer.source !== "^$") return;
    await (isTaken ? world.controlVolumes() : world.provision());
    expect(bind.answer).toBe("ok");
    expect(bindings()).toHaveLength(1);
  },
);

test("FR-073: a claim that is refused time and again is tried at growing pauses, and nothing is left over", async () => {
  await world.pvc("x", { class: "csi" });
  const pod = await world.pod("p", ["x"]);
  await world.start();
  const pauses = [5, 10, 20, 40, 80, 160, 300, 300].map((seconds) => seconds * 1_000);
  for (const [index, pauseMs] of pauses.entries()) {
    expect(fitting("p")).toContain("n1");
    const bind = world.bind(pod, "n1");
    await world.runtime.settle();
    await world.patch("claim", "d/x", { metadata: { annotations: { [selectedNode]: null } } });
    await world.runtime.settle();
    expect(bind.answer).toMatch(/on node n1 was refused/);
    const early = world.bind(pod, "n1");
    await world.runtime.advance(pauseMs - 1);
    expect(early.answer).toMatch(/provisioningBackoff/);
    expect(fitting("p")).toEqual(["n2"]);
    expect(volumeWrites()).toHaveLength(index + 1);
    await world.runtime.advance(1);
  }
  const { pools, rests } = world.berth.cluster.state;
  expect([bindings(), [...pools.demands()], rests.dump()]).toEqual([[], [], []]);
});

test("FR-112: a listed object and a watched one have one shape, with times as the API wrote them", async () => {
  const written = "2026-01-02T03:04:05Z";
  await world.pv("a", { on: "n1" });
  await world.pvc("x");
  await world.pod("p", ["x"]);
  const { cluster } = await world.start();
  const { state } = cluster;
  const shapeOf = (value: unknown): unknown =>
    value instanceof Map || value instanceof Set
      ? value.constructor.name
      : value !== null && typeof value === "object"
        ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]))
        : typeof value;
  const all = () => [
    state.get("volume", "a"),
    state.get("claim", "d/x"),
    state.get("pod", "d/p"),
    state.get("node", "n1"),
  ];
  const listed = all().map(shapeOf);
  const label = { metadata: { labels: { touched: "yes" }, annotations: { at: written } } };
  await world.patch("volume", "a", label);
  await world.patch("claim", "d/x", label);
  await world.patch("pod", "d/p", label);
  await world.patch("node", "n1", label);
  await world.runtime.settle();
  expect(state.get("volume", "a")?.labels.get("touched")).toBe("yes");
  expect(all().map(shapeOf)).toEqual(listed);
  expect(JSON.stringify(listed)).not.toContain("Date");
});
