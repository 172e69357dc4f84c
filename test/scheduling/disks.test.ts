/** Volumes that lie on one disk: directories of one file system, partitions of one drive (design §6). */
import fc from "fast-check";
import { expect, test } from "vitest";
import { DiskUse } from "../../src/scheduling/disk-use.ts";
import { filterNodes } from "../../src/scheduling/filter.ts";
import { podUid } from "../../src/scheduling/names.ts";
import { provisioned } from "../../src/scheduling/outcome.ts";
import { parseBytes, zero } from "../../src/scheduling/quantity.ts";
import { makePV, makePVC } from "../support/make.ts";
import { runs } from "../support/runs.ts";
import { World } from "../support/world.ts";

const disks = [
  { label: "fs", kind: "sharedFilesystem" },
  { label: "drive", kind: "partitions" },
] as const;

function nodes(...lines: string[]): World {
  const world = new World({ disks });
  for (const line of lines) world.apply(line);
  return world;
}

function assume(world: World, node: string, ...claims: string[]): void {
  const pod = world.pod(`p-${claims[0]}`, ...claims);
  expect(world.state.reservations.assume(pod.uid, world.plan(pod, node)).ok).toBe(true);
}

const reason = (world: World, ...claims: string[]): string => world.reasons(world.pod("q", ...claims), "a")[0] ?? "";

/** Three directories of one file system of 100Gi; each reports all of it. */
const directories = ["node a", ...["d1", "d2", "d3"].map((name) => `pv ${name} 100Gi on=a label=fs:root`)];

test("claims may not ask more of a file system than it has, whatever its directories say each", () => {
  const world = nodes(...directories, "pvc x 60Gi", "pvc y 60Gi", "pvc z 40Gi");
  expect(reason(world, "x", "y")).toBe("notEnoughVolumes");
  expect(reason(world, "x", "z")).toBe("");
  assume(world, "a", "x");
  expect([reason(world, "y"), reason(world, "z")]).toEqual(["notEnoughVolumes", ""]);
  world.state.reservations.forget(podUid("up-x"));
  expect(reason(world, "y")).toBe("");
});

test("a bound claim asks what it requests, and nothing once its volume is gone", () => {
  const world = nodes(...directories, "pvc x 60Gi volume=d1", "pv d1 100Gi on=a label=fs:root for=x uid=ux");
  world.apply("pvc y 60Gi");
  expect(reason(world, "y")).toBe("notEnoughVolumes");
  world.state.delete("volume", "d1");
  expect(reason(world, "y")).toBe("");
});

test("the same label on another node, or another value, is another file system", () => {
  const world = nodes("node a", "node b", "pv d1 100Gi on=a label=fs:1", "pv d2 100Gi on=a label=fs:2");
  world.apply("pv d3 100Gi on=b label=fs:1");
  for (const line of ["pvc x 60Gi", "pvc y 60Gi", "pvc z 60Gi"]) world.apply(line);
  expect(reason(world, "x", "y")).toBe("");
  assume(world, "a", "x", "y");
  expect(world.fitting(world.pod("q", "z"))).toEqual(["b"]);
});

test("where the smallest volume's file system is full, a larger one serves, or a new one", () => {
  const world = nodes(...directories, "pv own 200Gi on=a", "pvc x 60Gi", "pvc y 60Gi");
  expect(world.planned(world.pod("p", "x", "y"), "a")).toEqual(["x=d1", "y=own"]);
  const dynamic = nodes("node a", "class csi provisioner=csi.example", "driver csi.example");
  for (const name of ["d1", "d2"]) dynamic.apply(`pv ${name} 100Gi on=a class=csi label=fs:root`);
  for (const name of ["x", "y"]) dynamic.apply(`pvc ${name} 60Gi class=csi`);
  expect(dynamic.planned(dynamic.pod("p", "x", "y"), "a")).toEqual(["x=d1", "y=+csi"]);
});

test("a volume that is gone is no choice where file systems are full", () => {
  const world = nodes(...directories, "pv own 200Gi on=a", "pvc x 60Gi", "pvc y 60Gi");
  expect(reason(world, "x", "y")).toBe("");
  world.state.delete("volume", "own");
  expect(reason(world, "x", "y")).toBe("notEnoughVolumes");
});

test("what another Pod holds of a file system is left alone where that can be, and used where not", () => {
  const world = nodes(...directories, "pv own 200Gi on=a", "pvc x 60Gi", "pvc y 60Gi", "pvc z 150Gi");
  const holder = world.pod("h", "x");
  world.state.reservations.hold(holder.uid, [world.plan(holder, "a")]);
  expect(world.plan(world.pod("p", "y"), "a").contended).toBe(false);
  expect(world.planned(world.pod("p", "y"), "a")).toEqual(["y=own"]);
  expect(world.plan(world.pod("p", "y", "z"), "a").contended).toBe(true);
  expect(world.planned(holder, "a")).toEqual(["x=d1"]);
});

test("sizes beyond 2^53 bytes are told apart", () => {
  const world = nodes("node a", ...["d1", "d2"].map((name) => `pv ${name} 18014398509481985 on=a label=fs:root`));
  for (const line of ["pvc x 9007199254740993", "pvc y 9007199254740992", "pvc z 9007199254740993"]) world.apply(line);
  expect([reason(world, "x", "y"), reason(world, "x", "z")]).toEqual(["", "notEnoughVolumes"]);
});

test("of nodes that are equal otherwise, the one with an idle drive is better", () => {
  const world = nodes("node a", "node b", "node c");
  for (const on of ["a", "b", "c"]) {
    for (const part of [1, 2]) world.apply(`pv ${on}${part} 10Gi on=${on} label=drive:sda`);
  }
  world.apply("pv c3 5Gi on=c label=drive:sda");
  for (const name of ["x", "y", "z"]) world.apply(`pvc ${name} 5Gi`);
  assume(world, "a", "x");
  assume(world, "c", "y");
  expect(world.scores(world.pod("q", "z"))).toEqual({ a: 2, b: 10, c: 2 });
});

test("where file systems have room a Pod gets what it would get without them", () => {
  for (const [one, other] of [
    ["", ""],
    ["label=fs:1", "label=fs:2"],
  ]) {
    const world = nodes(...directories, `pv v 9Gi on=a ${one}`, `pv w 10Gi on=a ${other}`, "pvc x 5Gi", "pvc y 9Gi");
    expect(world.planned(world.pod("p", "x", "y"), "a")).toEqual(["x=v", "y=w"]);
  }
});

test("partitions of one drive have sizes of their own", () => {
  const world = nodes("node a", ...["p1", "p2"].map((name) => `pv ${name} 100Gi on=a label=drive:sda`));
  for (const line of ["pvc x 60Gi", "pvc y 60Gi"]) world.apply(line);
  expect(reason(world, "x", "y")).toBe("");
});

test("a directory that is on its own file system from now on is counted there", () => {
  const world = nodes(...directories, "pvc x 60Gi", "pvc y 60Gi");
  expect(reason(world, "x", "y")).toBe("notEnoughVolumes");
  world.apply("pv d1 100Gi on=a");
  expect(reason(world, "x", "y")).toBe("");
  world.apply("pv d1 100Gi on=a label=fs:root");
  expect(reason(world, "x", "y")).toBe("notEnoughVolumes");
});

test("what a volume serves is the claim that it names, not one that has its name now", () => {
  const world = nodes(...directories, "pvc x 60Gi", "pvc y 60Gi");
  world.apply("pv d1 100Gi on=a label=fs:root for=x uid=u-before phase=Released");
  expect(reason(world, "y")).toBe("");
  world.apply("pv d1 100Gi on=a label=fs:root for=x");
  expect(reason(world, "y")).toBe("notEnoughVolumes");
});

test("room that another Pod holds is used where no other is, though its volumes are not held", () => {
  const world = nodes(...directories, "pvc x 60Gi", "pvc y 60Gi", "pvc z 40Gi");
  const holder = world.pod("h", "x");
  world.state.reservations.hold(holder.uid, [world.plan(holder, "a")]);
  const contended = (...claims: string[]): boolean => world.plan(world.pod("p", ...claims), "a").contended;
  expect([contended("y"), contended("z")]).toEqual([true, false]);
});

test("what a claim has of a file system already is not held besides, by whoever else mounts the claim", () => {
  const world = nodes(...directories, "pvc x 40Gi", "pvc y 40Gi", "pvc r 5Gi", "pv own 200Gi on=a");
  world.apply("pv reserved 100Gi on=a label=fs:root for=r");
  const plansOf = (name: string, ...claims: string[]) => {
    const pod = world.pod(name, ...claims);
    return [pod.uid, [world.plan(pod, "a")]] as const;
  };
  assume(world, "a", "x");
  world.state.reservations.hold(...plansOf("sharer", "x", "r"));
  expect(world.state.reservations.holds.count).toBe(0);
  expect(world.planned(world.pod("q", "y"), "a")).toEqual(["y=d2"]);
});

test("a volume that another Pod holds is used where the others' file systems are full", () => {
  const world = nodes("node a", "pv full 10Gi on=a label=fs:1 for=old uid=uold", "pvc old 8Gi volume=full");
  for (const line of ["pv d 10Gi on=a label=fs:1", "pv e 20Gi on=a label=fs:2", "pvc x 15Gi", "pvc y 5Gi"])
    world.apply(line);
  world.apply("hold holder a : x");
  expect(world.planned(world.pod("p", "y"), "a")).toEqual(["y=e"]);
  expect(world.plan(world.pod("p", "y"), "a").contended).toBe(true);
});

test("as few are provisioned as can be, and of the volumes the smallest that fit", () => {
  const world = nodes("node a", "class csi provisioner=csi.example", "driver csi.example");
  for (const name of ["d1", "d2"]) world.apply(`pv ${name} 100Gi on=a class=csi label=fs:1`);
  for (const name of ["e1", "e2"]) world.apply(`pv ${name} 120Gi on=a class=csi label=fs:2`);
  for (const line of ["x 70Gi", "y 60Gi", "z 40Gi"]) world.apply(`pvc ${line} class=csi`);
  // The largest claim in the smallest volume would leave the larger ones to both others.
  expect(world.planned(world.pod("p", "x", "y", "z"), "a")).toEqual(["x=e1", "y=d1", "z=d2"]);
  for (const line of ["v 60Gi", "w 60Gi"]) world.apply(`pvc ${line} class=csi`);
  expect(world.planned(world.pod("q", "v", "w", "x", "y"), "a").filter((one) => one.endsWith("+csi"))).toHaveLength(1);
});

// Without a bound this one would not come to its end.
test("where no choice is found in so many steps the answer is no", () => {
  const world = new World({ disks });
  const names = Array.from({ length: 20 }, (_, nth) => `n${nth}`);
  for (const name of names) world.apply(`node ${name} zone=1`);
  const sizes = Array.from({ length: 24 }, (_, nth) => 1_001 + 2 * nth);
  const half = sizes.reduce((a, b) => a + b) / 2 - 1;
  for (const fs of [1, 2])
    for (const nth of sizes.keys()) world.apply(`pv v${fs}-${nth} ${half} at=zone:1 label=fs:${fs}`);
  for (const [nth, size] of sizes.entries()) world.apply(`pvc x${nth} ${size}`);
  expect(world.fitting(world.pod("q", ...[...sizes.keys()].map((nth) => `x${nth}`)))).toEqual([]);
});

test("random claims over random file systems fit whenever some choice of volumes does, and take the smallest that do", () => {
  const volume = fc.record({ size: fc.integer({ min: 1, max: 6 }), fs: fc.constantFrom("1", "2", undefined) });
  const asks = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 });
  let fitted = 0;
  fc.assert(
    fc.property(fc.array(volume, { minLength: 1, maxLength: 5 }), asks, fc.nat(4), (volumes, requests, bound) => {
      const world = nodes("node a");
      for (const [index, { size, fs }] of volumes.entries()) {
        const isBound = index === bound && volumes.length > 1;
        const claim = isBound ? { claim: "other", claimUid: "uother" } : {};
        world.add(makePV(`v${index}`, { on: "a", capacity: `${size}Gi`, ...(fs && { labels: { fs } }), ...claim }));
      }
      if (bound < volumes.length) world.add(makePVC("other", { request: "1Gi", volume: `v${bound}` }));
      const names = requests.map((request, index) => {
        world.add(makePVC(`x${index}`, { request: `${request}Gi` }));
        return `x${index}`;
      });
      const sizeOf = (fs: string): number =>
        Math.max(...volumes.filter((one) => one.fs === fs).map(({ size }) => size));
      const isTaken = (index: number): boolean => index === bound && volumes.length > 1;
      const total = (chosen: readonly number[]): number =>
        chosen.reduce((sum, index) => sum + (volumes[index]?.size ?? 0), 0);
      /** The least that the volumes can have in all. */
      const least = (chosen: readonly number[]): number => {
        if (chosen.length === requests.length) return serves(chosen) ? total(chosen) : Number.POSITIVE_INFINITY;
        const more = [...volumes.keys()].filter((index) => !isTaken(index) && !chosen.includes(index));
        return Math.min(...more.map((index) => least([...chosen, index])));
      };
      const serves = (chosen: readonly number[]): boolean => {
        if (chosen.some((index, claim) => (volumes[index]?.size ?? 0) < (requests[claim] ?? 0))) return false;
        return ["1", "2"].every((fs) => {
          const asked = chosen.map((index, claim) => (volumes[index]?.fs === fs ? (requests[claim] ?? 0) : 0));
          const before = volumes.some((one, index) => isTaken(index) && one.fs === fs) ? 1 : 0;
          const sum = asked.reduce((a, b) => a + b, 0);
          return sum === 0 || sum + before <= sizeOf(fs);
        });
      };
      const pod = world.pod("p", ...names);
      const best = least([]);
      expect(world.fitting(pod).length === 1).toBe(best < Number.POSITIVE_INFINITY);
      if (best === Number.POSITIVE_INFINITY) return;
      fitted++;
      const taken = world.planned(pod, "a").map((one) => Number(one.split("=v")[1]));
      expect(total(taken)).toBe(best);
    }),
    { numRuns: runs(400), seed: 20_261_130 },
  );
  expect(fitted).toBeGreaterThan(runs(50));
});

test("random holds of another Pod refuse nobody, and mark whoever needs what they hold", () => {
  const volume = fc.record({
    size: fc.integer({ min: 1, max: 6 }),
    fs: fc.constantFrom("1", "2", undefined),
    class: fc.constantFrom("local", "csi"),
    isBound: fc.boolean(),
  });
  const ask = fc.record({ size: fc.integer({ min: 1, max: 5 }), class: fc.constantFrom("local", "csi") });
  const some = <T>(one: fc.Arbitrary<T>, maxLength: number) => fc.array(one, { minLength: 1, maxLength });
  let contended = 0;
  fc.assert(
    fc.property(some(volume, 8), some(ask, 3), some(ask, 3), (volumes, mine, held) => {
      const world = nodes("node a", "class csi provisioner=csi.example", "driver csi.example capacity");
      world.apply("capacity c csi a 4Gi");
      for (const [index, { size, fs, class: name, isBound }] of volumes.entries()) {
        const capacity = `${size}Gi`;
        const claim = isBound ? { claim: `o${index}`, claimUid: `uo${index}` } : {};
        world.add(makePV(`v${index}`, { on: "a", class: name, capacity, ...(fs && { labels: { fs } }), ...claim }));
        if (isBound) world.add(makePVC(`o${index}`, { class: name, request: capacity, volume: `v${index}` }));
      }
      const podOf = (name: string, asks: typeof mine) => {
        const claims = asks.map((_, index) => `${name}${index}`);
        for (const [index, { size, class: ofClass }] of asks.entries()) {
          world.add(makePVC(`${name}${index}`, { class: ofClass, request: `${size}Gi` }));
        }
        return world.pod(name, ...claims);
      };
      const [holder, pod] = [podOf("h", held), podOf("p", mine)];
      if (world.fitting(holder).length === 0) return;
      const before = world.fitting(pod);
      world.state.reservations.hold(holder.uid, [world.plan(holder, "a")]);
      expect(world.fitting(pod)).toEqual(before);
      if (before.length === 0 || !world.plan(pod, "a").contended) return;
      contended++;
      // Without what is held there is no plan: held for good, it refuses.
      expect(world.state.reservations.assume(holder.uid, world.plan(holder, "a")).ok).toBe(true);
      expect(world.fitting(pod)).toEqual([]);
    }),
    { numRuns: runs(400), seed: 20_261_130 },
  );
  expect(contended).toBeGreaterThan(runs(10));
});

test("claims that need no file system, or have no volume at all, are served beside those that do", () => {
  const world = nodes("node a", "class csi provisioner=csi.example", "class new provisioner=csi.example");
  for (const line of ["driver csi.example", "pv own 5Gi on=a", "pvc x 5Gi", "pvc n 5Gi class=new"]) world.apply(line);
  for (const name of ["y", "z"]) {
    world.apply(`pv d${name} 100Gi on=a class=csi label=fs:root`);
    world.apply(`pvc ${name} 60Gi class=csi`);
  }
  const pod = world.pod("p", "n", "x", "y", "z");
  expect(world.planned(pod, "a")).toEqual(["n=+new", "x=own", "y=dy", "z=+csi"]);
});

test("a file system on which more is asked than it has takes nothing from the others", () => {
  const world = nodes("node a", "pv old 50Gi on=a label=fs:1 for=big uid=ubig", "pvc big 90Gi volume=old");
  for (const line of ["pv d 50Gi on=a label=fs:1", "pv e 60Gi on=a label=fs:2", "pvc x 40Gi"]) world.apply(line);
  expect(world.planned(world.pod("p", "x"), "a")).toEqual(["x=e"]);
});

/** What h holds is a directory that the others could not use: it takes room of each file system alone. */
const holding: Record<string, { room: readonly [number, number]; held: readonly number[]; asks: readonly number[] }> = {
  "together they lack what is held": { room: [50, 100], held: [2], asks: [30, 30] },
  "together they lack what is held of each": { room: [50, 100], held: [1, 2], asks: [30, 30] },
  "each lacks what is held of it, together they have enough": { room: [100, 100], held: [1, 2], asks: [60] },
};

test.for(Object.entries(holding))("what another Pod holds of file systems is used: %s", ([, { room, held, asks }]) => {
  const world = nodes("node a");
  for (const [nth, size] of room.entries()) {
    for (const name of ["d", "e"]) world.apply(`pv ${name}${nth + 1} ${size}Gi on=a label=fs:${nth + 1}`);
    world.apply(`pv h${nth + 1} ${size}Gi on=a label=fs:${nth + 1} modes=ROX label=held:${nth + 1}`);
  }
  for (const fs of held) {
    const asked = held.length === 1 ? room[fs - 1] : 50;
    world.apply(`pvc h${fs} ${asked}Gi modes=ROX selector=held:${fs}`);
  }
  const holder = world.pod("h", ...held.map((fs) => `h${fs}`));
  world.state.reservations.hold(holder.uid, [world.plan(holder, "a")]);
  for (const [nth, ask] of asks.entries()) world.apply(`pvc x${nth} ${ask}Gi`);
  const plan = world.plan(world.pod("p", ...asks.map((_, nth) => `x${nth}`)), "a");
  expect(plan.contended).toBe(true);
});

test("partitions have sizes of their own where other volumes share a file system, too", () => {
  const world = nodes(...directories, ...["p1", "p2"].map((name) => `pv ${name} 90Gi on=a label=drive:sda`));
  for (const line of ["pvc x 60Gi", "pvc y 60Gi"]) world.apply(line);
  expect(world.planned(world.pod("p", "x", "y"), "a")).toEqual(["x=p1", "y=p2"]);
});

test("each volume of a plan on a drive that somebody else uses is counted", () => {
  const world = nodes("node a", ...["p1", "p2", "p3"].map((name) => `pv ${name} 10Gi on=a label=drive:sda`));
  for (const name of ["w", "x", "y"]) world.apply(`pvc ${name} 5Gi`);
  const busy = (): number => {
    const verdict = filterNodes(world.state, world.pod("p", "x", "y"), world.nodes());
    return verdict.kind === "judged" ? verdict.nodes.busyDisks(0) : -1;
  };
  expect(busy()).toBe(0);
  assume(world, "a", "w");
  expect(busy()).toBe(2);
});

test("the searches of one decision have ten nodes' steps in all, and after that each a few", () => {
  const world = nodes("node a");
  for (let nth = 10; nth < 22; nth++) world.apply(`pv v${nth} ${nth}Gi on=a label=fs:${nth}`);
  const { disks, volumes } = world.state;
  const candidates = [...volumes.names()].map((name) => volumes.id(name) ?? -1);
  const asked = candidates.map(() => ({ bytes: parseBytes("1Gi") ?? zero }));
  const askers = candidates.map((_, index) => ({ index, candidates, canBeProvisioned: false }));
  const use = new DiskUse(world.state, new Set());
  expect(disks.areShared).toBe(true);
  /** How often a choice was offered before the search gave up. */
  const offered = (): number => {
    let count = 0;
    const accept = (): boolean => ++count < 0;
    expect(
      use.search(
        askers,
        candidates.map(() => provisioned),
        { asked, avoid: false, accept },
      ),
    ).toBe(false);
    return count;
  };
  const [first = 0, ...others] = Array.from({ length: 12 }, offered);
  expect(first).toBeGreaterThan(1_000);
  expect(others.slice(0, 8)).toEqual(others.slice(0, 8).map(() => first));
  expect(others.at(-1)).toBeLessThan(first / 50);
  expect(others.at(-1)).toBeGreaterThan(0);
});

test("what a zone's nodes share is chosen among as what a node has alone", () => {
  const zoned = nodes("node a zone=1", "node b zone=1");
  // As many small ones lie on one file system as there are claims.
  for (const name of ["d1", "d2", "d3"]) zoned.apply(`pv ${name} 100Gi at=zone:1 label=fs:1`);
  for (const name of ["e1", "e2"]) zoned.apply(`pv ${name} 120Gi at=zone:1 label=fs:2`);
  zoned.apply("pv own 200Gi at=zone:1");
  for (const line of ["pvc x 70Gi", "pvc y 70Gi", "pvc z 70Gi"]) zoned.apply(line);
  expect(zoned.planned(zoned.pod("p", "x", "y"), "a")).toEqual(["x=d1", "y=e1"]);
  expect(zoned.planned(zoned.pod("p", "x", "y", "z"), "b")).toEqual(["x=d1", "y=e1", "z=own"]);
});

test("what is known of disks is no more than the volumes that are there say", () => {
  const world = nodes("node a");
  const known = (line = ""): readonly boolean[] => {
    world.apply(line);
    return [world.state.disks.areKnown, world.state.disks.areShared];
  };
  expect(known("pv v1 1Gi on=a")).toEqual([false, false]);
  expect(known("pv p1 1Gi on=a label=drive:sda")).toEqual([true, false]);
  expect(known("pv d1 1Gi on=a label=fs:root")).toEqual([true, true]);
  expect(known("pv d2 1Gi on=a label=fs:root")).toEqual([true, true]);
  expect(known("delete volume p1")).toEqual([true, true]);
  expect(known("pv d1 1Gi on=a")).toEqual([true, true]);
  expect(known("pv d2 1Gi on=a label=drive:sda")).toEqual([true, false]);
  expect(known("delete volume d2")).toEqual([false, false]);
});
