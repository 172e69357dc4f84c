/**
 * Places that rest because a provisioner refused to make a claim's volume there (departure D18; FR-040, FR-073). Without a rest
 * the same node is chosen again and again: nothing that a decision looks at says why the provisioner refused.
 *
 * A rest is kept by claim: the refusal may be the claim's own (its size, its parameters, the snapshot it comes from), and one
 * tenant's claim must not keep a node from everybody. Each claim pays with one try a place for that. A place is the pool that
 * the claim was promised from, so that a whole segment rests, or the node where the driver publishes no capacity.
 *
 * The pause doubles with each refusal. It ends early when the driver publishes more than the least since the refusal: only a
 * rise is news, for a driver that publishes too much is why the provisioner was asked at all. A restart forgets all of it.
 */
import { deleteIn, mapIn, setIn } from "./indexes.ts";
import type { ClaimUid, NodeName } from "./names.ts";
import type { PoolKey } from "./plan.ts";
import { isPublished, type Pool, totalOf } from "./pools.ts";
import type { Bytes } from "./quantity.ts";

/** A pause that has not ended. */
export interface Resting {
  /** The node that was refused last; its segment rests with it. */
  readonly node: NodeName;
  /** Absent where the driver publishes no capacity. */
  readonly pool: PoolKey | undefined;
  /** In a row, this one included. */
  readonly refusals: number;
  /** Since the refusal, ms. */
  readonly sinceMs: number;
  /** Until the next try, ms; above zero. */
  readonly leftMs: number;
}

interface Rest {
  readonly place: string;
  node: NodeName;
  pool: PoolKey | undefined;
  refusals: number;
  refusedAt: number;
  until: number;
  /** The least that the pool published since. */
  lowest: Bytes | undefined;
}

const pauseFirstMs = 5_000;
const pauseMaxMs = 300_000;
/** Refusals further apart than this after a pause are not in a row. */
const rowMs = 2 * pauseMaxMs;
const restsMax = 10_000;
/** Whoever may write one claim cannot make Berth remember, and look through, more than this. */
const restsPerClaimMax = 256;

const none: readonly Resting[] = [];

/**
 * Which claims are not to be provisioned where, by the clock. At most 10,000 rests, 256 of them one claim's: beyond that the one
 * that was refused longest ago goes, of the claim itself first.
 */
export class Rests {
  readonly #clock: () => number;
  /** The claim that was refused last comes last. */
  readonly #byClaim = new Map<ClaimUid, Map<string, Rest>>();
  readonly #byPool = new Map<PoolKey, Set<Rest>>();
  #count = 0;
  #generation = 0;
  #nextEnd = Number.POSITIVE_INFINITY;

  /** @param clock  milliseconds, never backwards */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** A refusal that is heard of twice, through the watch and by the bind that waited, counts once. */
  refused(claim: ClaimUid, node: NodeName, pool: Pool | undefined): void {
    const now = this.#clock();
    const place = pool?.key ?? node;
    if (this.of(claim).some((rest) => rest.node === node)) return;
    const known = this.#byClaim.get(claim)?.get(place);
    const refusals = known && now - known.until < rowMs ? known.refusals + 1 : 1;
    this.#remove(claim, known);
    const pause = Math.min(pauseMaxMs, pauseFirstMs * 2 ** Math.min(refusals - 1, 20));
    const lowest = pool && isPublished(pool) ? totalOf(pool) : undefined;
    this.#add(claim, { place, node, pool: pool?.key, refusals, refusedAt: now, until: now + pause, lowest });
    const own = this.#byClaim.get(claim);
    if (own && own.size > restsPerClaimMax) this.#removeOldestOf(claim, own);
    if (this.#count > restsMax) this.#removeOldest();
  }

  /** The claim is bound or gone. */
  forget(claim: ClaimUid): void {
    for (const rest of [...(this.#byClaim.get(claim)?.values() ?? [])]) this.#remove(claim, rest);
  }

  /** The pool's published value was seen. */
  published(pool: Pool): void {
    const value = totalOf(pool);
    for (const rest of this.#byPool.get(pool.key) ?? []) {
      if (value > (rest.lowest ?? value)) this.#endAt(rest, Math.min(rest.until, this.#clock()));
      // Where it rose the rest is over, and what it compares with does not matter any more.
      rest.lowest = value;
    }
  }

  /** Where the claim is not to be provisioned now. */
  of(claim: ClaimUid): readonly Resting[] {
    const rests = this.#byClaim.get(claim);
    return rests ? [...this.#resting(rests)] : none;
  }

  /** For `/debug/state`. */
  dump(): readonly ({ readonly claim: ClaimUid } & Resting)[] {
    return [...this.#byClaim].flatMap(([claim, rests]) =>
      Array.from(this.#resting(rests), (resting) => ({ claim, ...resting })),
    );
  }

  /** Changes when a pause begins or ends, by the clock too. */
  get generation(): number {
    const now = this.#clock();
    if (now < this.#nextEnd) return this.#generation;
    this.#generation++;
    this.#nextEnd = Number.POSITIVE_INFINITY;
    for (const rests of this.#byClaim.values()) {
      for (const { until } of rests.values()) if (until > now) this.#nextEnd = Math.min(this.#nextEnd, until);
    }
    return this.#generation;
  }

  *#resting(rests: ReadonlyMap<string, Rest>): Generator<Resting> {
    const now = this.#clock();
    for (const { node, pool, refusals, refusedAt, until } of rests.values()) {
      if (until > now) yield { node, pool, refusals, sinceMs: now - refusedAt, leftMs: until - now };
    }
  }

  #add(claim: ClaimUid, rest: Rest): void {
    const rests = mapIn(this.#byClaim, claim).set(rest.place, rest);
    this.#byClaim.delete(claim);
    this.#byClaim.set(claim, rests);
    if (rest.pool !== undefined) setIn(this.#byPool, rest.pool).add(rest);
    this.#count++;
    this.#endAt(rest, rest.until);
  }

  #endAt(rest: Rest, until: number): void {
    rest.until = until;
    this.#generation++;
    this.#nextEnd = Math.min(this.#nextEnd, until);
  }

  #remove(claim: ClaimUid, rest: Rest | undefined): void {
    if (!rest) return;
    const rests = this.#byClaim.get(claim);
    rests?.delete(rest.place);
    if (rests?.size === 0) this.#byClaim.delete(claim);
    if (rest.pool !== undefined) deleteIn(this.#byPool, rest.pool, rest);
    this.#count--;
    this.#generation++;
  }

  #removeOldest(): void {
    const oldest = this.#byClaim.entries().next().value;
    if (oldest) this.#removeOldestOf(...oldest);
  }

  /** Each refusal puts its rest at the end. */
  #removeOldestOf(claim: ClaimUid, rests: ReadonlyMap<string, Rest>): void {
    this.#remove(claim, rests.values().next().value);
  }
}
