/**
 * What can be configured: one YAML file of kind BerthConfiguration, overridden by flags. Read once at start; every default
 * stands in one literal here and nowhere else, and every key of the file in `config/keys.ts`.
 */
import type { ClassOverride } from "./config/classes.ts";
import { defaultElection, type LeaderElection } from "./config/election.ts";
import { type DebugAccess, defaultDebugAccess, type ListenerTls, listenersProblems } from "./config/tls.ts";
import { type Address, address } from "./config/values.ts";
import type { Milliseconds } from "./runtime/runtime.ts";
import type { DiskRule } from "./scheduling/disks.ts";
import { defaultScoring, type Scoring } from "./scheduling/scoring.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface Config {
  /** Absent: the service account of the Pod, $KUBECONFIG, then ~/.kube/config. */
  readonly kubeconfig?: string;
  /** The scheduler that asks us. Explanations say so when a Pod names another; decides nothing. */
  readonly schedulerName: string;
  /** Where kube-scheduler asks. */
  readonly listen: Address;
  /** Metrics and explanations. */
  readonly debugListen: Address;
  /** TLS with client certificates for `listen`; plain HTTP without. */
  readonly tls?: ListenerTls;
  /** TLS for `debugListen`, where callers then have to say who they are; plain HTTP without. */
  readonly debugTls?: ListenerTls;
  readonly debugAccess: DebugAccess;
  /** Allows plain HTTP beyond loopback. */
  readonly insecure: boolean;
  readonly logLevel: LogLevel;
  /** Whether calls are traced; where traces go is said in the environment, as OpenTelemetry has it. */
  readonly tracing: boolean;
  readonly binding: {
    /** How long one bind waits for its claims. */
    readonly timeoutMs: Milliseconds;
    /** Binds of Pods with claims at one time. */
    readonly inProgressMax: number;
    /** Binds that wait for their turn; one more is answered with an `Error`. */
    readonly queuedMax: number;
  };
  readonly holds: {
    readonly ttlMs: Milliseconds;
    readonly podsMax: number;
    /** Feasible nodes that a Pod may hold volumes on at one time. */
    readonly nodesMax: number;
  };
  readonly cache: {
    /** A watch that is silent for longer, bookmarks included, is no ground for a refusal. */
    readonly staleAfterMs: Milliseconds;
    /** Whether lists are asked for as streams, object by object; in pages where the server has none, or where this is off. */
    readonly streamsLists: boolean;
  };
  /** Reads of objects that a decision needs and the cache lacks. */
  readonly liveReads: {
    readonly timeoutMs: Milliseconds;
    readonly perCallMax: number;
    readonly inParallelMax: number;
  };
  readonly limits: {
    readonly bodyBytesMax: number;
    readonly bindBodyBytesMax: number;
    /** Calls in progress, binds apart; one more is answered 503. */
    readonly callsMax: number;
    /** Of the bodies that one listener has before it together; a larger one is answered 503, unless it is alone or a small call. */
    readonly bodiesBytesMax: number;
    /** How long a stop waits for the calls in progress. */
    readonly drainTimeoutMs: Milliseconds;
  };
  readonly capacity: {
    /** How often CSI drivers look at their capacity (external-provisioner's --capacity-poll-interval). */
    readonly pollIntervalMs: Milliseconds;
  };
  readonly leaderElection: LeaderElection;
  readonly metrics: {
    /** Whether what each node has is a metric, with the node's name as a label. */
    readonly perNode: boolean;
    /** Classes that are named in metrics; the others are counted together. */
    readonly classesMax: number;
  };
  readonly scoring: Scoring;
  readonly classes: readonly ClassOverride[];
  /** How to tell which volumes lie on one disk. */
  readonly disks: readonly DiskRule[];
}

export const defaults: Config = freeze({
  schedulerName: "berth-scheduler",
  listen: { host: "127.0.0.1", port: 10290 },
  debugListen: { host: "127.0.0.1", port: 10291 },
  debugAccess: defaultDebugAccess,
  insecure: false,
  logLevel: "info",
  tracing: false,
  // As kube-scheduler's own VolumeBinding plugin waits.
  binding: { timeoutMs: 600_000, inProgressMax: 1_000, queuedMax: 1_000 },
  holds: { ttlMs: 60_000, podsMax: 1_000, nodesMax: 4 },
  // Bookmarks come about once a minute; one that is late is no reason to stop.
  cache: { staleAfterMs: 150_000, streamsLists: true },
  // Well within the 5 s that kube-scheduler waits for an extender by default.
  liveReads: { timeoutMs: 2_000, perCallMax: 32, inParallelMax: 8 },
  // 64 MiB holds about 4,000 whole Nodes.
  limits: {
    bodyBytesMax: 64 << 20,
    bindBodyBytesMax: 64 << 10,
    callsMax: 64,
    bodiesBytesMax: 128 << 20,
    drainTimeoutMs: 20_000,
  },
  capacity: { pollIntervalMs: 60_000 },
  leaderElection: defaultElection,
  metrics: { perNode: false, classesMax: 100 },
  scoring: defaultScoring,
  classes: [],
  disks: [],
});

/** A configuration that cannot be used, in one line that says where and what to do. */
export class ConfigError extends Error {}

/** What flags may override; absent members leave the file's value. */
export interface ConfigFlags {
  readonly kubeconfig?: string | undefined;
  readonly listen?: string | undefined;
  readonly "debug-listen"?: string | undefined;
}

/** @throws ConfigError naming the flag */
export function applyFlags(config: Config, flags: ConfigFlags): Config {
  return freeze({
    ...config,
    ...(flags.kubeconfig !== undefined && { kubeconfig: flags.kubeconfig }),
    listen: readAddressFlag("--listen", flags.listen) ?? config.listen,
    debugListen: readAddressFlag("--debug-listen", flags["debug-listen"]) ?? config.debugListen,
  });
}

/**
 * Refuses to listen where others could reach it and nobody would be asked who he is.
 *
 * @throws ConfigError naming the address and the keys to set
 */
export function checkListeners(config: Config): void {
  const [first] = listenersProblems(config);
  if (first) throw new ConfigError(`${first.key} ${first.problem}`);
}

function readAddressFlag(name: string, written: string | undefined): Address | undefined {
  if (written === undefined) return undefined;
  const read = address.read(written);
  if (!read) throw new ConfigError(`${name} ${JSON.stringify(written)} is not ${address.expected}`);
  return read;
}

/** `over` has the shape of `Config`, members left out: `keys.ts` names nothing else, and a test compares the two. */
export function overDefaults(over: Readonly<Record<string, unknown>>): Config {
  const merged: Record<string, unknown> = { ...defaults };
  for (const [member, value] of Object.entries(over)) {
    const before = merged[member];
    const isSection = typeof before === "object" && !Array.isArray(before) && !("port" in (before ?? {}));
    merged[member] = isSection ? { ...before, ...(value as object) } : value;
  }
  return freeze(merged as unknown as Config);
}

function freeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) if (typeof member === "object" && member !== null) freeze(member);
  return Object.freeze(value);
}
