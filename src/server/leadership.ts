/**
 * What holding the Lease means to Berth.
 *
 *   mode         answers for Pods with claims      wakes, cleans, repairs
 *   answers      the leader                        the leader
 *   background   whoever is asked                  the leader: whoever is asked takes the Lease
 *   off          whoever is asked                  nobody
 *
 * A Berth that has got the Lease first lets the last leader's writes come in: it waits for as long as a write may be out, and
 * lists the claims anew, for a promise of capacity is in the API as a claim's selected-node and in no other place (decision 22).
 */
import type { Cluster } from "../cluster/cluster.ts";
import type { Config } from "../config.ts";
import { type Accession, Elector } from "../election/elector.ts";
import type { LeaseClient } from "../election/lease-api.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import type { Leadership, Readiness } from "./parts.ts";

export interface RunningLeadership extends Leadership {
  start(): void;
  /** Puts the Lease down. To be called when nothing is under way any more. */
  stop(): Promise<void>;
}

/** Of a Berth that nobody stands beside: the sandbox's and the simulation's. */
export const alone: RunningLeadership = {
  readiness: () => ({ ready: true }),
  mayWrite: () => true,
  mayWork: () => true,
  refused: () => {},
  describe: () => ({ mode: "alone" }),
  start: () => {},
  stop: async () => {},
};

export const withoutLease: RunningLeadership = { ...alone, mayWork: () => false, describe: () => ({ mode: "off" }) };

export interface LeadershipDeps {
  readonly runtime: Runtime;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "leading" | "leads" | "leadsLost" | "leaseFailures">;
  readonly client: LeaseClient;
  readonly cluster: Pick<Cluster, "readiness" | "refresh">;
  readonly config: Config["leaderElection"];
  readonly identity: string;
  /** Another Berth leads now, or may: in this very turn, what is under way is to end, and no write is to go out any more. */
  readonly standDown: (why: string) => void;
}

/**
 * The longest that a leader's write may be out: less than from the end of a lead to the beginning of the next, so that what was
 * written is in the API before the next leader counts (decision 22).
 */
export function writeTimeoutOf({ leaseMs, renewMs }: Config["leaderElection"]): Milliseconds {
  return Math.floor(((leaseMs - renewMs) * 2) / 3);
}

/** Who lost the Lease does not take it back sooner: two that are both asked take turns, and do not fight. */
const turnMs: Milliseconds = 30_000;
/** For so long after a refusal there may be somebody to wake. */
const wantedMs: Milliseconds = 60_000;

export class ElectedLeadership implements RunningLeadership {
  readonly #deps: LeadershipDeps;
  readonly #elector: Elector;
  #isSettled = false;
  #refusedAt: Milliseconds | undefined;
  #lostAt: Milliseconds | undefined;

  constructor(deps: LeadershipDeps) {
    this.#deps = deps;
    const { runtime, client, cluster, config, identity, metrics, log } = deps;
    const { resourceNamespace: namespace, resourceName: name, leaseMs, renewMs, retryMs, mode } = config;
    this.#elector = new Elector({
      runtime,
      client,
      log,
      options: { namespace, name, identity, leaseMs, renewMs, retryMs },
      isFit: () => cluster.readiness().ready,
      takesOver: () => mode === "background" && this.#isWanted(),
      led: (how, signal) => this.#led(how, signal),
      lost: (why) => this.#lost(why),
      failed: () => metrics.leaseFailures.inc(),
    });
  }

  start(): void {
    this.#elector.start();
  }

  async stop(): Promise<void> {
    await this.#elector.release();
    this.#isSettled = false;
    this.#deps.metrics.leading.set(0);
  }

  readiness(): Readiness {
    return this.#deps.config.mode === "answers" ? this.#standing() : { ready: true };
  }

  /** By the clock of this very moment, not by whether a timer had its turn. */
  mayWrite(): boolean {
    return this.#deps.config.mode !== "answers" || this.#elector.isLeading;
  }

  mayWork(): boolean {
    return this.#standing().ready;
  }

  refused(): void {
    this.#refusedAt = this.#deps.runtime.now();
  }

  describe(): object {
    const { config, identity } = this.#deps;
    const { isLeading, holder, problem } = this.#elector;
    const standing = this.#standing();
    return {
      mode: config.mode,
      lease: `${config.resourceNamespace}/${config.resourceName}`,
      identity,
      holder,
      role: !isLeading ? "follower" : standing.ready ? "leader" : "new leader",
      ...(problem !== "" && { problem }),
    };
  }

  #standing(): Readiness {
    const { isLeading, holder, problem } = this.#elector;
    if (!isLeading) {
      const why = problem !== "" ? problem : holder === "" ? "nobody leads yet" : `${holder} leads`;
      return { ready: false, why: `follower: ${why}` };
    }
    if (this.#isSettled) return { ready: true };
    return { ready: false, why: "new leader: the last leader's writes are still awaited" };
  }

  #isWanted(): boolean {
    const now = this.#deps.runtime.now();
    if (this.#lostAt !== undefined && now - this.#lostAt < turnMs) return false;
    return this.#refusedAt !== undefined && now - this.#refusedAt <= wantedMs;
  }

  #led(how: Accession, signal: AbortSignal): void {
    const { metrics } = this.#deps;
    metrics.leading.set(1);
    metrics.leads.inc({ how });
    void this.#settle(how, signal);
  }

  async #settle(how: Accession, signal: AbortSignal): Promise<void> {
    const { runtime, cluster, config, log } = this.#deps;
    // Where the Lease was not left to run out, its holder may not know yet, until its own deadline.
    const unawareMs = how === "created" || how === "taken" ? config.renewMs : 0;
    await Promise.all([
      runtime.sleep(unawareMs + writeTimeoutOf(config), signal),
      config.mode === "answers" ? cluster.refresh("claim", signal) : undefined,
    ]);
    if (signal.aborted) return;
    this.#isSettled = true;
    log.info({ mode: config.mode }, "Leads in earnest");
  }

  #lost(why: string): void {
    const { runtime, config, metrics, standDown } = this.#deps;
    this.#isSettled = false;
    this.#lostAt = runtime.now();
    metrics.leading.set(0);
    metrics.leadsLost.inc();
    if (config.mode === "answers") standDown(`this Berth leads no more: ${why}`);
  }
}
