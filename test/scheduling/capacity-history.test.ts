/**
 * Any history of promises, volumes and publications, of claims, volumes and nodes that vanish and return, against the naive ledger.
 * Sources of every kind at once.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { podUid } from "../../src/scheduling/names.ts";
import { runs } from "../support/runs.ts";
import { Ledger, pollMs } from "./ledger.ts";
import { classes, groupOf, isWhole, NaiveLedger, type Name, nodes, pools, sources } from "./naive-ledger.ts";

interface Known {
  readonly of: Name;
  readonly on: string;
  readonly pod: string;
  /** What it asks for. */
  readonly bytes: bigint;
  phase: "promised" | "selected" | "made" | "bound";
  isAway: boolean;
}

/** Both ledgers, led through the same history. */
class Twins {
  readonly ledger = new Ledger(classes, { pools, sources });
  readonly naive = new NaiveLedger();
  readonly #values = new Map<string, Map<string, bigint>>(nodes.map((on) => [on, new Map()]));
  readonly #said = new Map<string, Parameters<Ledger["node"]>[1]>();
  readonly #claims = new Map<string, Known>();
  #claimCount = 0;
  promised = 0;

  constructor() {
    for (const on of nodes) this.ledger.node(on);
  }

  publish(of: Name, on: string, value: bigint | undefined): void {
    if (of in sources) {
      const key = sources[of as keyof typeof sources].name.replace("example.com/", "");
      const carried = this.#values.get(on);
      if (value === undefined) carried?.delete(key);
      else carried?.set(key, value);
      const said = Object.fromEntries([...(carried ?? [])].map(([name, bytes]) => [name, String(bytes)]));
      const { nvme, ...annotations } = said;
      const values = { annotations, ...(nvme !== undefined && { allocatable: { nvme } }) };
      this.#said.set(on, values);
      this.ledger.node(on, values);
      for (const other of isWhole(of) ? (["tot", "tou"] as const) : [of]) this.naive.publish(other, on, value);
    } else {
      if (value === undefined) this.ledger.state.delete("capacity", `kube-system/${of}-${on}`);
      else this.ledger.object(`${of}-${on}`, of, on, String(value));
      this.naive.publish(of, on, value);
    }
  }

  /** One claim alone, or two of one Pod that must fit together. */
  promise(of: readonly Name[], on: string, bytes: bigint): void {
    const claims = of.map((name) => ({ name, claim: `x${this.#claimCount++}` }));
    for (const { name, claim } of claims) this.ledger.claim(claim, name, String(bytes));
    this.naive.update();
    const outcome = this.ledger.assume(on, ...claims.map(({ claim }) => claim));
    const isEach = of.every((name) => (this.naive.free(name, on) ?? -1n) >= bytes);
    const [first, second] = of;
    const isSame = first && second && groupOf(first) === groupOf(second);
    const isBoth = !isSame || (this.naive.free(first, on) ?? -1n) >= 2n * bytes;
    expect(outcome === "promised", `${outcome} for ${of.join()} on ${on}`).toBe(
      isEach && isBoth && this.#isSmall(of, on, bytes),
    );
    if (outcome !== "promised") return;
    this.promised++;
    for (const { name, claim } of claims) {
      this.naive.demand(claim, name, on, bytes);
      this.#claims.set(claim, { of: name, on, pod: `p-${claims[0]?.claim}`, bytes, phase: "promised", isAway: false });
      expect(this.naive.free(name, on)).toBeGreaterThanOrEqual(0n);
    }
  }

  /** The node's object goes, and comes back as it was. */
  reboot(on: string): void {
    this.ledger.state.delete("node", on);
    this.ledger.node(on, this.#said.get(on));
  }

  /** A claim vanishes, or comes back. */
  blink(nth: number): void {
    const [claim, known] = this.#claim(nth);
    if (!known || known.phase === "promised") return;
    // Where the class has nothing, a demand of it is in no pool.
    if (known.isAway && !this.naive.isPublished(known.of, known.on)) return;
    known.isAway = !known.isAway;
    if (!known.isAway) this.#show(claim, known);
    else {
      this.ledger.state.delete("claim", `d/${claim}`);
      this.naive.settle(claim, undefined);
    }
  }

  /** The volume goes before its claim is bound. */
  lose(nth: number): void {
    const [claim, known] = this.#claim(nth);
    if (known?.phase !== "made" || !this.naive.isPublished(known.of, known.on)) return;
    known.phase = "selected";
    this.#removeVolume(claim);
    if (known.isAway) this.naive.bothGone(claim);
    else this.naive.expect(claim, known.of, known.on, known.bytes);
  }

  /** A claim and its volume go, one after the other. */
  clear(nth: number, isVolumeFirst: boolean): void {
    const [claim, known] = this.#claim(nth);
    if (!known || known.isAway || (known.phase !== "made" && known.phase !== "bound")) return;
    if (isVolumeFirst) this.#removeVolume(claim);
    // While the claim is there and not bound, another volume may be made.
    if (isVolumeFirst && known.phase === "made") this.naive.expect(claim, known.of, known.on, known.bytes);
    this.ledger.state.delete("claim", `d/${claim}`);
    this.naive.settle(claim, undefined);
    if (!isVolumeFirst) this.#removeVolume(claim);
    this.naive.bothGone(claim);
    this.#claims.delete(claim);
  }

  /** The next thing that happens to a claim: selected-node, its volume, bound, the volume gone. */
  proceed(nth: number, how: "on" | "back" | "gone"): void {
    const [claim, known] = this.#claim(nth);
    if (!known || (known.isAway && known.phase !== "selected")) return;
    const { of, on, pod, bytes } = known;
    if (how === "gone") {
      this.ledger.state.reservations.forget(podUid(`u${pod}`));
      for (const [other, { pod: its, phase }] of this.#claims) {
        if (its !== pod || phase !== "promised") continue;
        this.naive.end(other);
        this.#claims.delete(other);
      }
      this.naive.settle(claim, undefined);
      this.ledger.state.delete("claim", `d/${claim}`);
      this.#claims.delete(claim);
      return;
    }
    if (how === "back") {
      if (known.phase !== "selected" || known.isAway) return;
      this.ledger.claim(claim, of, String(bytes));
      this.naive.end(claim);
      this.#claims.delete(claim);
      return;
    }
    switch (known.phase) {
      case "promised":
        this.ledger.claim(claim, of, String(bytes), { selectedNode: on });
        known.phase = "selected";
        return;
      case "selected":
        known.phase = "made";
        this.#make(claim, known, nth % 3 === 0 ? bytes + base : bytes);
        return;
      case "made":
        this.ledger.claim(claim, of, String(bytes), { selectedNode: on, volume: `pv-${claim}` });
        known.phase = "bound";
        return;
      case "bound":
        this.#removeVolume(claim);
        this.#claims.delete(claim);
    }
  }

  wait(ms: number): void {
    this.ledger.wait(ms);
    this.naive.now += ms;
  }

  compare(): void {
    this.naive.update();
    const pairs = nodes.flatMap((on) => classes.map((of) => ({ of, on })));
    const said = pairs.map(({ of, on }) => [of, on, ...this.ledger.free(of, on)].join(" "));
    expect(said).toEqual(pairs.map(({ of, on }) => [of, on, this.naive.free(of, on) ?? []].flat().join(" ")));
    for (const pool of this.ledger.state.pools.all()) {
      let sum = 0n;
      let count = 0;
      for (const demand of this.ledger.state.pools.demands()) {
        if (demand.pool !== pool) continue;
        sum += demand.bytes;
        count++;
      }
      if (pool.promised !== sum || pool.demands.size !== count) expect({ pool }).toEqual({ sum, count });
    }
  }

  /** No class is told of a larger volume than what it publishes itself. */
  #isSmall(of: readonly Name[], on: string, bytes: bigint): boolean {
    return of.every((name) =>
      this.ledger.state.pools
        .offersFor(name as never)
        .values()
        .some(({ newest, pool }) => {
          const node = pool.topology.members.values().next().value?.node.name;
          return node === on && (newest?.capacity ?? -1n) >= bytes;
        }),
    );
  }

  #claim(nth: number): [string, Known | undefined] {
    const claims = [...this.#claims];
    return claims[nth % Math.max(1, claims.length)] ?? ["", undefined];
  }

  #removeVolume(claim: string): void {
    this.ledger.state.delete("volume", `pv-${claim}`);
    this.naive.volumes = this.naive.volumes.filter((volume) => volume.claim !== claim);
  }

  #make(claim: string, { of, on }: Known, bytes: bigint): void {
    this.ledger.volume(claim, of, on, String(bytes));
    this.naive.volumes.push({ claim, of, on, bytes });
    this.naive.settle(claim, bytes);
  }

  #show(claim: string, { of, on, bytes, phase }: Known): void {
    this.ledger.claim(claim, of, String(bytes), {
      selectedNode: on,
      ...(phase === "bound" && { volume: `pv-${claim}` }),
    });
    if (phase === "bound") return;
    const made = this.naive.volumes.find((one) => one.claim === claim);
    this.naive.expect(claim, of, on, bytes, made?.bytes);
  }
}

const name = fc.constantFrom(...classes);
const on = fc.constantFrom(...nodes);
/** Some beyond 2^53, where doubles could not tell them apart. */
const base = 2n ** 60n;
const value = fc.oneof(
  { weight: 5, arbitrary: fc.bigInt(0n, 12n).map((tenth) => tenth * base + tenth) },
  { weight: 1, arbitrary: fc.constant(undefined) },
);
const step: fc.Arbitrary<(twins: Twins) => void> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(name, on, value).map(
      ([of, node, bytes]) =>
        (twins: Twins) =>
          twins.publish(of, node, bytes),
    ),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(fc.array(name, { minLength: 1, maxLength: 2 }), on, fc.bigInt(1n, 4n)).map(
      ([of, node, times]) =>
        (twins: Twins) =>
          twins.promise(of, node, times * base + 1n),
    ),
  },
  {
    weight: 8,
    arbitrary: fc.tuple(fc.nat(30), fc.constantFrom("on", "on", "on", "on", "back", "gone")).map(
      ([nth, how]) =>
        (twins: Twins) =>
          twins.proceed(nth, how as "on" | "back" | "gone"),
    ),
  },
  { weight: 1, arbitrary: on.map((node) => (twins: Twins) => twins.reboot(node)) },
  { weight: 2, arbitrary: fc.nat(30).map((nth) => (twins: Twins) => twins.blink(nth)) },
  { weight: 2, arbitrary: fc.nat(30).map((nth) => (twins: Twins) => twins.lose(nth)) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.nat(30), fc.boolean()).map(
      ([nth, isVolumeFirst]) =>
        (twins: Twins) =>
          twins.clear(nth, isVolumeFirst),
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(1_000, pollMs, 2 * pollMs).map((ms) => (twins: Twins) => twins.wait(ms)) },
);

test("any history leaves what published, volumes and promises add up to, and nothing is promised above it", () => {
  let promised = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 10, maxLength: 60, size: "max" }), (steps) => {
      const twins = new Twins();
      for (const of of classes) for (const node of nodes) twins.publish(of, node, 10n * base);
      for (const take of steps) {
        take(twins);
        twins.compare();
      }
      promised += twins.promised;
    }),
    { numRuns: runs(100), seed: 20_261_130 },
  );
  expect(promised).toBeGreaterThan(runs(300));
});
