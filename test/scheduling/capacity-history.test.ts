/**
 * Any history of promises, volumes and publications, against a ledger that is as simple as the sentences it is made of: it keeps
 * lists, and adds them up from scratch on every look. Sources of every kind at once: capacity objects, two classes on one disk,
 * an annotation that says what is left, and an allocatable resource that says all there is.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { podUid } from "../../src/scheduling/names.ts";
import { Ledger, pollMs, source } from "./ledger.ts";

const nodes = ["a", "b"] as const;
const pools: Readonly<Record<string, string>> = { obj: "vg", obk: "vg", tot: "nvme", tou: "nvme" };
const whole = source("nvme", { from: "allocatable", means: "total" });
const sources = { ann: source("ann"), tot: whole, tou: whole };
const classes = ["solo", "obj", "obk", "ann", "tot", "tou"] as const;
type Name = (typeof classes)[number];
const groupOf = (name: string): string => pools[name] ?? name;
const isWhole = (name: string): boolean => groupOf(name) === "nvme";

interface NaiveDemand {
  readonly claim: string;
  readonly of: Name;
  readonly on: string;
  readonly bytes: bigint;
  settling?: { readonly at: number; readonly nth: number };
  hasVolume: boolean;
}

class Naive {
  demands: NaiveDemand[] = [];
  volumes: { claim: string; of: Name; on: string; bytes: bigint }[] = [];
  now = 0;
  readonly #published = new Map<string, bigint>();
  readonly #dropped = new Map<string, bigint>();
  #nth = 0;

  publish(of: Name, on: string, value: bigint | undefined): void {
    const group = `${groupOf(of)} ${on}`;
    const before = this.#published.has(`${of} ${on}`) ? this.#total(of, on) : undefined;
    if (value === undefined) this.#published.delete(`${of} ${on}`);
    else this.#published.set(`${of} ${on}`, value);
    const after = value === undefined ? undefined : this.#total(of, on);
    if (isWhole(of) || before === undefined || after === undefined || after >= before) return;
    if (this.#of(of, on).length > 0) this.#dropped.set(group, (this.#dropped.get(group) ?? 0n) + before - after);
  }

  isPublished(of: Name, on: string): boolean {
    return this.#published.has(`${of} ${on}`);
  }

  free(of: Name, on: string): bigint | undefined {
    if (!this.isPublished(of, on)) return undefined;
    const same = (other: string): boolean => groupOf(other) === groupOf(of);
    const used = this.volumes.filter((volume) => isWhole(of) && same(volume.of) && volume.on === on);
    const promised = this.demands.filter((demand) => same(demand.of) && demand.on === on);
    return [...used, ...promised].reduce((left, { bytes }) => left - bytes, this.#total(of, on));
  }

  demand(claim: string, of: Name, on: string, bytes: bigint): void {
    this.end(claim);
    this.demands.push({ claim, of, on, bytes, hasVolume: false });
  }

  end(claim: string): void {
    const ended = this.demands.find((demand) => demand.claim === claim);
    this.demands = this.demands.filter((demand) => demand !== ended);
    if (ended && this.#of(ended.of, ended.on).length === 0) this.#dropped.delete(`${groupOf(ended.of)} ${ended.on}`);
  }

  settle(claim: string, hasVolume: boolean): void {
    const demand = this.demands.find((one) => one.claim === claim);
    if (!demand) return;
    demand.hasVolume ||= hasVolume;
    demand.settling ??= { at: this.now, nth: ++this.#nth };
  }

  update(): void {
    const settling = this.demands.filter((demand) => demand.settling);
    for (const demand of settling.sort((a, b) => (a.settling?.nth ?? 0) - (b.settling?.nth ?? 0))) {
      const group = `${groupOf(demand.of)} ${demand.on}`;
      const dropped = this.#dropped.get(group) ?? 0n;
      const isCovered = !isWhole(demand.of) && dropped >= demand.bytes;
      const hasWaited = this.now - (demand.settling?.at ?? 0) >= 2 * pollMs;
      if (!(isWhole(demand.of) && demand.hasVolume) && !isCovered && !hasWaited) continue;
      if (isCovered) this.#dropped.set(group, dropped - demand.bytes);
      this.end(demand.claim);
    }
  }

  #of(of: Name, on: string): NaiveDemand[] {
    return this.demands.filter((demand) => groupOf(demand.of) === groupOf(of) && demand.on === on);
  }

  #total(of: Name, on: string): bigint {
    const values = classes.flatMap((other) =>
      groupOf(other) === groupOf(of) ? (this.#published.get(`${other} ${on}`) ?? []) : [],
    );
    return values.sort((a, b) => (a < b ? -1 : 1))[0] ?? -1n;
  }
}

/** Both ledgers, led through the same history. */
class Twins {
  readonly ledger = new Ledger(classes, { pools, sources });
  readonly naive = new Naive();
  readonly #values = new Map<string, Map<string, bigint>>(nodes.map((on) => [on, new Map()]));
  readonly #claims = new Map<
    string,
    { of: Name; on: string; pod: string; phase: "promised" | "selected" | "made" | "bound" }
  >();
  #claimCount = 0;
  promised = 0;

  constructor() {
    for (const on of nodes) this.ledger.node(on);
  }

  publish(of: Name, on: string, value: bigint | undefined): void {
    if (of in sources) {
      const key = sources[of as keyof typeof sources].name.replace("example.com/", "");
      const values = this.#values.get(on);
      if (value === undefined) values?.delete(key);
      else values?.set(key, value);
      const said = Object.fromEntries([...(values ?? [])].map(([name, bytes]) => [name, String(bytes)]));
      const { nvme, ...annotations } = said;
      this.ledger.node(on, { annotations, ...(nvme !== undefined && { allocatable: { nvme } }) });
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
      this.#claims.set(claim, { of: name, on, pod: `p-${claims[0]?.claim}`, phase: "promised" });
      expect(this.naive.free(name, on)).toBeGreaterThanOrEqual(0n);
    }
  }

  /** The next thing that happens to a claim: selected-node, its volume, bound, the volume gone. */
  proceed(nth: number, how: "on" | "back" | "gone"): void {
    const claims = [...this.#claims.keys()];
    const claim = claims[nth % Math.max(1, claims.length)];
    const known = claim === undefined ? undefined : this.#claims.get(claim);
    if (claim === undefined || !known) return;
    const { of, on, pod } = known;
    const bytes = this.#bytes(claim);
    if (how === "gone") {
      this.ledger.state.reservations.forget(podUid(`u${pod}`));
      for (const [other, { pod: its, phase }] of this.#claims) {
        if (its !== pod || phase !== "promised") continue;
        this.naive.end(other);
        this.#claims.delete(other);
      }
      this.naive.settle(claim, false);
      this.ledger.state.delete("claim", `d/${claim}`);
      this.#claims.delete(claim);
      return;
    }
    if (how === "back") {
      if (known.phase !== "selected") return;
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
        this.ledger.volume(claim, of, on, String(bytes));
        this.naive.volumes.push({ claim, of, on, bytes });
        this.naive.settle(claim, true);
        known.phase = "made";
        return;
      case "made":
        this.ledger.claim(claim, of, String(bytes), { selectedNode: on, volume: `pv-${claim}` });
        known.phase = "bound";
        return;
      case "bound":
        this.ledger.state.delete("volume", `pv-${claim}`);
        this.naive.volumes = this.naive.volumes.filter((volume) => volume.claim !== claim);
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

  #bytes(claim: string): bigint {
    return this.ledger.state.get("claim", `d/${claim}`)?.request ?? 0n;
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
    { numRuns: 100, seed: 20_261_130 },
  );
  expect(promised).toBeGreaterThan(300);
});
