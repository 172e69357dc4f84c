/**
 * Whether this process holds the Lease.
 *
 *              free, released or expired: written under its version                  renewal answered
 *   following ──────────────────────────────────────────────────────▶ leading ─────────┐
 *      ▲                                                                 │  ▲          │
 *      │   no renewal for renewMs · another holds it · a renewal refused │  └──────────┘
 *      └─────────────────────────────────────────────────────────────────┘
 *
 * Times in the Lease are never compared with a clock of ours: a follower measures by its own clock how long the Lease has not
 * changed, so that clocks may differ as they like. A leader counts from before the renewal was sent, a follower from after it
 * was read, so the leader has given up `leaseMs - renewMs` before anybody may follow, as long as their clocks run equally fast.
 * Written by hand: client-node has no election, and time and transport are handed in (decision 22 of
 * docs/decisions/0002-settled-questions.md).
 *
 * @see client-go tools/leaderelection/leaderelection.go
 */
import type { Failure } from "../kube/outcome.ts";
import type { Log } from "../runtime/log.ts";
import type { Milliseconds, Runtime, Timer } from "../runtime/runtime.ts";
import { type Holding, type Lease, newLease, readLease, released, renewed } from "./lease.ts";
import { isRefusal, LeaseApi, type LeaseClient } from "./lease-api.ts";

export interface ElectorOptions {
  readonly namespace: string;
  readonly name: string;
  /** Of this incarnation of the process: no other may ever have it. */
  readonly identity: string;
  /** A Lease that has not changed for so long may be taken. */
  readonly leaseMs: Milliseconds;
  /** A leader that could not renew for so long leads no more. Less than `leaseMs`. */
  readonly renewMs: Milliseconds;
  /** From one look or renewal to the next. */
  readonly retryMs: Milliseconds;
}

/** How the Lease was come by, which says how long the one before may not know of it. */
export type Accession =
  /** There was none: it is new, or somebody deleted it under its holder. */
  | "created"
  /** Its holder had put it down. */
  | "released"
  /** Its holder had not renewed it for its duration. */
  | "expired"
  /** Its holder still renewed it. */
  | "taken";

export interface ElectorDeps {
  readonly runtime: Runtime;
  /** Its timeout is the longest that a look or a renewal takes. */
  readonly client: LeaseClient;
  readonly log: Log;
  readonly options: ElectorOptions;
  /** Whether this process is fit to lead; while it is not, a free Lease is left to others. */
  readonly isFit: () => boolean;
  /** Whether to take the Lease from a holder that renews it. Default never. */
  readonly takesOver?: () => boolean;
  /** Leads from now on; `signal` aborts when it leads no more. */
  readonly led: (how: Accession, signal: AbortSignal) => void;
  /** In the turn in which it becomes known that it leads no more; not called for a release. */
  readonly lost: (why: string) => void;
  readonly failed?: () => void;
}

interface Term {
  readonly ending: AbortController;
  /** Runtime clock. */
  validUntil: Milliseconds;
  expiry: Timer;
  lease: Lease;
  /** The last renewal that may have come through: a look at the Lease tells. */
  unanswered: { readonly renewTime: string | undefined; readonly startedAt: Milliseconds } | undefined;
}

/** The Lease as seen in others' hands. */
interface Seen {
  readonly lease: Lease;
  readonly expiresAt: Milliseconds;
}

/** Followers come at different times, and not all in the moment in which the Lease ends. */
const jitter = 0.2;
/** After a try that took all its time already. */
const pauseMinMs: Milliseconds = 100;

export class Elector {
  readonly #deps: ElectorDeps;
  readonly #api: LeaseApi;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #term: Term | undefined;
  #seen: Seen | undefined;
  /** The write by which we tried to get the Lease last: its answer may have been lost. */
  #tried: Accession | undefined;
  #problem = "";

  constructor(deps: ElectorDeps) {
    this.#deps = deps;
    this.#api = new LeaseApi(deps.client, deps.options);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** By the clock, whether or not a timer had its turn yet: a process that stood still leads no more when it wakes up. */
  get isLeading(): boolean {
    return this.#term !== undefined && this.#deps.runtime.now() < this.#term.validUntil;
  }

  /** Whoever was last seen to hold the Lease; "" where nobody was. */
  get holder(): string {
    return this.#term ? this.#deps.options.identity : (this.#seen?.lease.holder ?? "");
  }

  /** Why the last try to read or write the Lease failed; "" where it did not. */
  get problem(): string {
    return this.#problem;
  }

  /** Puts the Lease down for the next one to take, where we hold it. To be called when nothing that it guards goes on any more. */
  async release(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    const { isLeading } = this;
    let lease = this.#term?.lease;
    // From the moment in which it is sent: the next one may lead before its answer is here.
    this.#end();
    for (let tries = 0; lease && isLeading && tries < 2; tries++) {
      const outcome = await this.#api.replace(released(lease, this.#deps.runtime.wallTime()));
      if (outcome.ok || outcome.status !== 409) return;
      // A renewal whose answer was lost has gone before.
      const read = await this.#api.read();
      const found = read.ok ? readLease(read.body) : undefined;
      lease = found?.holder === this.#deps.options.identity ? found : undefined;
    }
  }

  async #run(): Promise<void> {
    const { runtime, options } = this.#deps;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const startedAt = runtime.now();
      const term = this.#term;
      await (term ? this.#renew(term) : this.#tryToLead());
      const tookMs = runtime.now() - startedAt;
      const pauseMs = this.#term ? options.retryMs - tookMs : options.retryMs * (1 + jitter * runtime.random());
      await runtime.sleep(Math.max(pauseMinMs, pauseMs), signal);
    }
  }

  async #renew(term: Term): Promise<void> {
    // A second time where our own renewal before was never answered, or somebody touched the Lease beside us.
    for (let tries = 0; tries < 2; tries++) {
      const startedAt = this.#deps.runtime.now();
      const next = renewed(term.lease, this.#holding());
      const outcome = await this.#api.replace(next);
      if (this.#term !== term) return;
      if (outcome.ok) return this.#extend(term, startedAt, readLease(outcome.body));
      if (outcome.ambiguous) term.unanswered = { renewTime: readLease(next)?.renewTime, startedAt };
      if (outcome.status !== 409) return this.#missed(outcome, "renew");
      const read = await this.#api.read();
      if (this.#term !== term) return;
      if (!read.ok) return this.#missed(read, "read");
      const lease = readLease(read.body);
      if (lease?.holder !== this.#deps.options.identity) {
        if (lease) this.#observe(lease);
        return this.#lose(`${lease?.holder || "nobody"} holds the Lease now`);
      }
      const { unanswered } = term;
      if (unanswered && unanswered.renewTime === lease.renewTime) this.#extend(term, unanswered.startedAt, lease);
      if (this.#term !== term) return;
      term.lease = lease;
    }
  }

  /** A renewal that did not come through is tried again while there is time; one that is refused ends the term (FR-113). */
  #missed(failure: Failure, what: "read" | "renew"): void {
    this.#note(failure, what);
    if (isRefusal(failure)) this.#lose(`the Lease could not be kept: ${this.#problem}`);
  }

  /** @param startedAt  before the renewal was sent */
  #extend(term: Term, startedAt: Milliseconds, lease: Lease | undefined): void {
    // An answer may be unreadable: the next renewal is then a conflict, and reads.
    term.lease = lease ?? term.lease;
    this.#problem = "";
    if (!this.isLeading) {
      this.#lose("the renewal took too long");
      return;
    }
    term.unanswered = undefined;
    term.validUntil = startedAt + this.#deps.options.renewMs;
    term.expiry.cancel();
    term.expiry = this.#expireAt(term.validUntil);
  }

  async #tryToLead(): Promise<void> {
    const read = await this.#api.read();
    if (!read.ok && read.status !== 404) return this.#note(read, "read");
    const lease = read.ok ? readLease(read.body) : undefined;
    if (lease) this.#observe(lease);
    const how = this.#accession(lease);
    if (!how || !this.#deps.isFit() || this.#stopping.signal.aborted) {
      this.#problem = "";
      return;
    }
    this.#tried = how;
    const startedAt = this.#deps.runtime.now();
    const outcome = await (lease
      ? this.#api.replace(renewed(lease, this.#holding()))
      : this.#api.create(this.#fresh()));
    if (outcome.ok) return this.#lead(how, startedAt, readLease(outcome.body) ?? lease);
    // With a conflict somebody was faster.
    if (outcome.status !== 409) this.#note(outcome, lease ? "renew" : "create");
  }

  /** By which right the Lease could be ours; undefined while it is another's. */
  #accession(lease: Lease | undefined): Accession | undefined {
    const now = this.#deps.runtime.now();
    const seen = this.#seen;
    // Whoever held a Lease that was deleted may not know yet.
    if (!lease) return seen && now < seen.expiresAt ? undefined : "created";
    if (lease.holder === this.#deps.options.identity) return this.#tried ?? "expired";
    if (lease.holder === "") return "released";
    if (!seen || now >= seen.expiresAt) return "expired";
    return this.#deps.takesOver?.() ? "taken" : undefined;
  }

  #observe(lease: Lease): void {
    const { identity, leaseMs } = this.#deps.options;
    const before = this.#seen;
    if (lease.holder === "" || lease.holder === identity) this.#seen = undefined;
    else if (before?.lease.mark !== lease.mark) {
      const now = this.#deps.runtime.now();
      this.#seen = { lease, expiresAt: now + Math.max(leaseMs, lease.durationMs ?? 0) };
    }
  }

  #lead(how: Accession, startedAt: Milliseconds, lease: Lease | undefined): void {
    this.#problem = "";
    const validUntil = startedAt + this.#deps.options.renewMs;
    // Without an answer that can be read, or so late, it is found to be ours at the next look.
    if (!lease || this.#deps.runtime.now() >= validUntil) return;
    this.#tried = undefined;
    this.#seen = undefined;
    const ending = new AbortController();
    this.#term = { ending, validUntil, expiry: this.#expireAt(validUntil), lease, unanswered: undefined };
    this.#deps.log.info({ how }, "Leads");
    this.#deps.led(how, ending.signal);
  }

  #expireAt(at: Milliseconds): Timer {
    const { runtime, options } = this.#deps;
    return runtime.timer(at - runtime.now(), () =>
      this.#lose(`the Lease could not be renewed for ${options.renewMs / 1000} s`),
    );
  }

  #lose(why: string): void {
    if (!this.#term) return;
    this.#end();
    this.#deps.log.warn({ error: why }, "Leads no more");
    this.#deps.lost(why);
  }

  #end(): void {
    const term = this.#term;
    this.#term = undefined;
    term?.expiry.cancel();
    term?.ending.abort();
  }

  #note(failure: Failure, what: "read" | "create" | "renew"): void {
    const problem = this.#api.explain(failure, what);
    this.#deps.failed?.();
    if (problem !== this.#problem) this.#deps.log.warn({ error: failure.message, status: failure.status }, problem);
    this.#problem = problem;
  }

  #holding(): Holding {
    const { identity, leaseMs } = this.#deps.options;
    return { holder: identity, durationMs: leaseMs, wallTimeMs: this.#deps.runtime.wallTime() };
  }

  #fresh(): Record<string, unknown> {
    const { namespace, name } = this.#deps.options;
    return newLease(namespace, name, this.#holding());
  }
}
