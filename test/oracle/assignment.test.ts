/** The core agrees with the naive oracle on random nodes; a difference shrinks to the smallest node that shows it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { makeCapacity, makeClass, makeCsiNode, makeDriver, makeNode, makePV, makePVC } from "../support/make.ts";
import { type Answer, type ModelClaim, type ModelNode, type ModelVolume, oracle } from "../support/oracle.ts";
import { World } from "../support/world.ts";

const modeNames: Record<string, string> = { o: "ReadWriteOnce", r: "ReadOnlyMany", x: "ReadWriteMany" };

const modes = fc.constantFrom("o", "ox", "orx", "r", "o", "o");
const classes = fc.constantFrom("local", "local", "csi");
const tag = fc.constantFrom("a", "b");

const volume = (index: number): fc.Arbitrary<ModelVolume> =>
  fc
    .record({
      size: fc.integer({ min: 1, max: 8 }),
      class: classes,
      modes,
      block: fc.constantFrom(false, false, false, true),
      tag,
      available: fc.constantFrom(true, true, true, false),
      reserved: fc.constantFrom(undefined, undefined, undefined, undefined, "c0", "c1", "other"),
      fate: fc.constantFrom("free", "free", "free", "held", "assumed"),
    })
    .map(({ reserved, fate, ...rest }) => ({
      ...rest,
      name: `v${index}`,
      ...(reserved !== undefined && { reservedFor: reserved }),
      held: fate === "held" && rest.available && reserved === undefined,
      assumed: fate === "assumed" && rest.available && reserved === undefined,
    }));

const claim = (index: number): fc.Arbitrary<ModelClaim> =>
  fc
    .record({
      size: fc.integer({ min: 1, max: 8 }),
      class: classes,
      modes: fc.constantFrom("o", "o", "r", "ox"),
      block: fc.constantFrom(false, false, false, false, true),
      tag: fc.option(tag, { nil: undefined, freq: 3 }),
    })
    .map(({ tag: wanted, ...rest }) => ({ ...rest, name: `c${index}`, ...(wanted !== undefined && { tag: wanted }) }));

const listOf = <T>(make: (index: number) => fc.Arbitrary<T>, max: number): fc.Arbitrary<T[]> =>
  fc.integer({ min: 1, max }).chain((length) => fc.tuple(...Array.from({ length }, (_, index) => make(index))));

const mixed: fc.Arbitrary<ModelNode> = fc.record({
  volumes: listOf(volume, 6),
  claims: listOf(claim, 4),
  dynamicClasses: fc.constantFrom(["csi"], ["csi"], []),
  free: fc.integer({ min: 0, max: 20 }),
  limit: fc.integer({ min: 0, max: 12 }),
});

/** Claims and volumes that differ in size alone: the common case, which has a way of its own through the core. */
const plain: fc.Arbitrary<ModelNode> = mixed.map((node) => ({
  ...node,
  claims: node.claims.map(({ name, size }) => ({ name, size, class: "local", modes: "o", block: false })),
  volumes: node.volumes.map((one) => ({ ...one, class: "local", modes: "o", block: false })),
}));

const nodes = fc.oneof(mixed, plain);

/** The model as API objects; what is assumed or held is so for Pods of its own that want exactly that volume. */
function worldOf(node: ModelNode): World {
  const world = new World().add(makeNode("n"));
  const dynamic = node.dynamicClasses.includes("csi");
  world.add(makeClass("csi", { provisioner: dynamic ? "csi.example" : "kubernetes.io/no-provisioner" }));
  world.add(makeDriver("csi.example", true), makeCsiNode("n", "csi.example"));
  // A pool is the larger of its two numbers: the model's free space is that, its limit the maximum.
  world.add(
    makeCapacity("pool", {
      class: "csi",
      on: "n",
      capacity: `${node.free}Gi`,
      max: `${Math.min(node.limit, node.free)}Gi`,
    }),
  );
  for (const one of node.volumes) world.add(rawVolume(one));
  for (const one of node.claims) world.add(rawClaim(one));
  for (const one of node.volumes) {
    if (!one.held && !one.assumed) continue;
    const wish = `wish-${one.name}`;
    world.add(makePV(one.name, { ...facts(one), claim: wish }));
    world.add(
      makePVC(wish, {
        request: "1Gi",
        class: one.class,
        modes: [modeNames[one.modes[0] ?? "o"] ?? ""],
        volumeMode: one.block ? "Block" : "Filesystem",
      }),
    );
    const pod = world.pod(`p-${one.name}`, wish);
    const plan = world.plan(pod, "n");
    world.add(rawVolume(one));
    if (one.held) world.state.reservations.hold(pod.uid, [plan]);
    else expect(world.state.reservations.assume(pod.uid, plan)).toEqual({ ok: true });
  }
  return world;
}

function facts(one: ModelVolume): Parameters<typeof makePV>[1] {
  return {
    on: "n",
    capacity: `${one.size}Gi`,
    class: one.class,
    modes: [...one.modes].map((mode) => modeNames[mode] ?? ""),
    volumeMode: one.block ? "Block" : "Filesystem",
    labels: { tag: one.tag },
    phase: one.available ? "Available" : "Pending",
  };
}

function rawVolume(one: ModelVolume): ReturnType<typeof makePV> {
  return makePV(one.name, { ...facts(one), ...(one.reservedFor !== undefined && { claim: one.reservedFor }) });
}

function rawClaim(one: ModelClaim): ReturnType<typeof makePVC> {
  return makePVC(one.name, {
    request: `${one.size}Gi`,
    class: one.class,
    modes: [...one.modes].map((mode) => modeNames[mode] ?? ""),
    volumeMode: one.block ? "Block" : "Filesystem",
    ...(one.tag !== undefined && { selector: { matchLabels: { tag: one.tag } } }),
  });
}

function coreAnswer(node: ModelNode): Answer | undefined {
  const world = worldOf(node);
  const pod = world.pod("p", ...node.claims.map(({ name }) => name));
  if (world.fitting(pod).length === 0) return undefined;
  const plan = world.plan(pod, "n");
  let surplus = 0n;
  for (const planned of plan.claims) {
    if (planned.kind === "static") surplus += planned.volume.capacity - (planned.claim.request ?? 0n);
  }
  return {
    contended: plan.contended,
    provisions: plan.claims.filter(({ kind }) => kind === "provision").length,
    surplus: Number(surplus >> 30n),
    plan: plan.claims.map((planned) =>
      planned.kind === "static"
        ? `${planned.claim.key.slice(2)}=${planned.volume.name}`
        : `${planned.claim.key.slice(2)}=+`,
    ),
  };
}

const runs = Number(process.env["ORACLE_RUNS"] ?? 3_000);

test(`the core and the oracle agree on ${runs} random nodes`, { timeout: 600_000 }, () => {
  fc.assert(
    fc.property(nodes, (node) => {
      const model = { ...node, limit: Math.min(node.limit, node.free) };
      expect(coreAnswer(node)).toEqual(oracle(model));
    }),
    { numRuns: runs },
  );
});
