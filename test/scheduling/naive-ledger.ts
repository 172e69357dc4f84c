/**
 * A ledger that is as simple as the sentences it is made of: it keeps lists, and adds them up from scratch on every look. Two
 * classes publish objects for one disk, two read one allocatable resource that says all there is, one an annotation that says what is left.
 */
import { pollMs, source } from "./ledger.ts";

export const nodes = ["a", "b"] as const;
export const pools: Readonly<Record<string, string>> = { obj: "vg", obk: "vg", tot: "nvme", tou: "nvme" };
const whole = source("nvme", { from: "allocatable", means: "total" });
export const sources = { ann: source("ann"), tot: whole, tou: whole };
export const classes = ["solo", "obj", "obk", "ann", "tot", "tou"] as const;
export type Name = (typeof classes)[number];
export const groupOf = (name: string): string => pools[name] ?? name;
export const isWhole = (name: string): boolean => groupOf(name) === "nvme";

interface NaiveDemand {
  readonly claim: string;
  readonly of: Name;
  readonly on: string;
  bytes: bigint;
  /** Drops before this one are of others. */
  readonly firstDrop: number;
  settling?: { readonly at: number; readonly nth: number };
  hasVolume: boolean;
}

export class NaiveLedger {
  demands: NaiveDemand[] = [];
  volumes: { claim: string; of: Name; on: string; bytes: bigint }[] = [];
  now = 0;
  readonly #published = new Map<string, bigint>();
  readonly #drops: { readonly group: string; left: bigint }[] = [];
  #nth = 0;

  publish(of: Name, on: string, value: bigint | undefined): void {
    const group = `${groupOf(of)} ${on}`;
    const before = this.#published.has(`${of} ${on}`) ? this.#total(of, on) : undefined;
    if (value === undefined) this.#published.delete(`${of} ${on}`);
    else this.#published.set(`${of} ${on}`, value);
    const after = value === undefined ? undefined : this.#total(of, on);
    if (isWhole(of) || before === undefined || after === undefined || after >= before) return;
    this.#drops.push({ group, left: before - after });
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
    this.demands.push({ claim, of, on, bytes, firstDrop: this.#drops.length, hasVolume: false });
  }

  end(claim: string): void {
    this.demands = this.demands.filter((demand) => demand.claim !== claim);
  }

  settle(claim: string, volume: bigint | undefined): void {
    const demand = this.demands.find((one) => one.claim === claim);
    if (!demand) return;
    if (volume !== undefined && volume > demand.bytes) demand.bytes = volume;
    demand.hasVolume ||= volume !== undefined;
    demand.settling ??= { at: this.now, nth: ++this.#nth };
  }

  /** The claim shows, with or without its volume. */
  expect(claim: string, of: Name, on: string, bytes: bigint, volume?: bigint): void {
    const demand = this.demands.find((one) => one.claim === claim);
    if (!demand) this.demand(claim, of, on, bytes);
    if (volume !== undefined) this.settle(claim, volume);
    else if (demand) {
      delete demand.settling;
      demand.hasVolume = false;
    }
  }

  update(): void {
    const settling = this.demands.filter((demand) => demand.settling);
    for (const demand of settling.sort((a, b) => (a.settling?.nth ?? 0) - (b.settling?.nth ?? 0))) {
      const hasWaited = this.now - (demand.settling?.at ?? 0) >= 2 * pollMs;
      if (hasWaited || (isWhole(demand.of) && demand.hasVolume) || this.#isCovered(demand)) this.#conclude(demand);
    }
  }

  /** The claim is gone, or its volume is, the other one before it. */
  bothGone(claim: string): void {
    const demand = this.demands.find((one) => one.claim === claim);
    if (demand?.hasVolume) this.#conclude(demand);
  }

  #dropsSince({ of, on, firstDrop }: NaiveDemand): { left: bigint }[] {
    return this.#drops.filter((one, nth) => one.group === `${groupOf(of)} ${on}` && nth >= firstDrop);
  }

  #isCovered(demand: NaiveDemand): boolean {
    return this.#dropsSince(demand).reduce((sum, { left }) => sum + left, 0n) >= demand.bytes;
  }

  #conclude(demand: NaiveDemand): void {
    let { bytes } = demand;
    for (const drop of this.#isCovered(demand) ? this.#dropsSince(demand) : []) {
      const [left, more] = drop.left < bytes ? [0n, bytes - drop.left] : [drop.left - bytes, 0n];
      drop.left = left;
      bytes = more;
    }
    this.end(demand.claim);
  }

  #total(of: Name, on: string): bigint {
    const values = classes.flatMap((other) =>
      groupOf(other) === groupOf(of) ? (this.#published.get(`${other} ${on}`) ?? []) : [],
    );
    return values.sort((a, b) => (a < b ? -1 : 1))[0] ?? -1n;
  }
}
