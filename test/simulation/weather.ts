/** What goes wrong on the wire, and how often: decided for each message from the seed and the link that it takes. */
import type { HttpRequest, Milliseconds } from "../../src/runtime/runtime.ts";
import { Random } from "../oracle/random.ts";

/** Of a request and its answer. */
export const callFaults = [
  /** It takes seconds, so that others overtake it. */
  "slow",
  /** It never arrives, and the connection is reset. */
  "lost request",
  /** It never arrives, and nobody says so. */
  "silent request",
  /** It takes effect; the connection is reset before the answer. */
  "lost answer",
  /** It takes effect; the answer never comes. */
  "silent answer",
  /** 500, and nothing done. */
  "500 before",
  /** 500 after it took effect. */
  "500 after",
  /** 504 after it took effect. */
  "504 after",
  /** It arrives twice; the answer is the second one's. */
  "duplicate",
  /** The answer breaks off in the middle, its status told. */
  "truncated",
  /** 429 with Retry-After, and nothing done. */
  "429",
  /** 409 although nothing is in the way: the server gave up among its own retries. */
  "409",
] as const;

/** Of a watch. */
export const watchFaults = [
  /** Its connection breaks. */
  "watch cut",
  /** Its server ends it, as at a restart. */
  "watch closed",
  /** It breaks off in the middle of a line. */
  "watch torn",
  /** Nothing comes any more, and nobody says so. */
  "watch silent",
  /** Bookmarks are missing. */
  "no bookmarks",
  /** It lags by seconds. */
  "watch late",
  /** 410 at opening. */
  "410",
] as const;

export type CallFault = (typeof callFaults)[number];
export type WatchFault = (typeof watchFaults)[number];
export type Fault = CallFault | WatchFault;
export const faults: readonly Fault[] = [...callFaults, ...watchFaults];

export type Service = "api" | "extender";

export interface Link {
  /** Who calls, e.g. "berth-1". */
  readonly from: string;
  readonly to: Service;
  /** Longer than this no message may be on its way. */
  readonly delayMaxMs: Milliseconds;
  /** One message in so many goes wrong. */
  readonly rarity: number;
}

export interface Fate {
  readonly outMs: Milliseconds;
  readonly backMs: Milliseconds;
  readonly fault: CallFault | undefined;
  /** Of a duplicate: so long after the first. */
  readonly copyMs: Milliseconds;
}

export interface WatchFate {
  readonly openMs: Milliseconds;
  readonly lagMs: Milliseconds;
  readonly fault: WatchFault | undefined;
  /** Lines until the fault. */
  readonly after: number;
}

export interface WeatherOptions {
  readonly seed: number;
  readonly enabled: ReadonlySet<Fault>;
}

const delays = [0, 0, 1, 1, 3, 8, 30, 120, 400];
const slowDelays = [900, 2_500, 6_000, 12_000];
const writeOnly: readonly CallFault[] = ["409"];
/** What an extender or its listener may answer, and what Go's client may send again. */
const ofExtender: readonly CallFault[] = [
  "slow",
  "lost request",
  "silent request",
  "lost answer",
  "silent answer",
  "500 before",
  "duplicate",
  "truncated",
];

export class Weather {
  /** Nothing is lost, nothing takes time. */
  isCalm = true;
  readonly counts = new Map<Fault, number>();
  readonly #seed: number;
  readonly #enabled: ReadonlySet<Fault>;
  readonly #dice = new Map<string, Random>();

  constructor({ seed, enabled }: WeatherOptions) {
    this.#seed = seed;
    this.#enabled = enabled;
  }

  callFate(link: Link, request: HttpRequest): Fate {
    if (this.isCalm) return { outMs: 0, backMs: 0, fault: undefined, copyMs: 0 };
    const dice = this.#diceOf(link);
    const [outMs, backMs] = [dice.pick(delays), dice.pick(delays)];
    const isUnlucky = dice.once(link.rarity);
    const drawn = dice.pick(callFaults);
    const slowMs = Math.min(dice.pick(slowDelays), link.delayMaxMs);
    const fault = isUnlucky && this.#applies(drawn, link, request) ? drawn : undefined;
    if (fault) this.#count(fault);
    return { outMs: fault === "slow" ? slowMs : outMs, backMs, fault, copyMs: slowMs };
  }

  watchFate(link: Link): WatchFate {
    if (this.isCalm) return { openMs: 0, lagMs: 0, fault: undefined, after: 0 };
    const dice = this.#diceOf(link);
    const [openMs, lagMs] = [dice.pick(delays), dice.pick(delays)];
    const isUnlucky = dice.once(Math.max(2, link.rarity / 3));
    const fault = dice.pick(watchFaults);
    const after = dice.pick([0, 1, 1, 2, 4, 8, 16]);
    const lateMs = dice.pick(slowDelays);
    if (!isUnlucky || !this.#enabled.has(fault)) return { openMs, lagMs, fault: undefined, after };
    this.#count(fault);
    return { openMs, lagMs: fault === "watch late" ? lateMs : lagMs, fault, after };
  }

  #applies(fault: CallFault, { to }: Link, { method }: HttpRequest): boolean {
    if (!this.#enabled.has(fault)) return false;
    if (to === "extender") return ofExtender.includes(fault);
    return method !== "GET" || !writeOnly.includes(fault);
  }

  #count(fault: Fault): void {
    this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1);
  }

  #diceOf({ from, to }: Link): Random {
    const name = `${from} ${to}`;
    const known = this.#dice.get(name);
    if (known) return known;
    const made = new Random(this.#seed ^ hashOf(name));
    this.#dice.set(name, made);
    return made;
  }
}

/** FNV-1a. */
export function hashOf(text: string, seed = 0x811c9dc5): number {
  let hash = seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
