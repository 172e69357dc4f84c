/** The whole of Berth without sockets: what `berth serve` listens with, and what the sandbox, the tests and the simulation run. */
import { Binder } from "../binding/binder.ts";
import { ApiKubeWriter } from "../binding/kube-writer.ts";
import { Waker } from "../binding/waker.ts";
import { Cluster } from "../cluster/cluster.ts";
import { PodLists } from "../cluster/pod-lists.ts";
import type { Config } from "../config.ts";
import { ApiClient } from "../kube/client.ts";
import { reviewAccess, reviewToken } from "../kube/reviews.ts";
import type { Log } from "../log.ts";
import { createMetrics, type Metrics } from "../metrics.ts";
import type { Admission, Exchange, Milliseconds, RequestHead, Runtime } from "../runtime/runtime.ts";
import { type Tracing, untraced } from "../runtime/tracing.ts";
import { type ClassName, className, type PodUid } from "../scheduling/names.ts";
import type { Pod } from "../scheduling/objects.ts";
import { ClusterState } from "../scheduling/state.ts";
import {
  alone,
  ElectedLeadership,
  type LeadershipDeps,
  type RunningLeadership,
  withoutLease,
  writeTimeoutOf,
} from "./leadership.ts";
import { LedWriter, ledCluster } from "./led.ts";
import { CycleMemory } from "./memory.ts";
import { binderObserver, clusterObserver } from "./observers.ts";
import type { Reviewer } from "./parts.ts";
import { RefusalTeller } from "./refusal-events.ts";
import { createServer } from "./server.ts";

export interface BerthOptions {
  /** The API server. */
  readonly exchange: Exchange;
  readonly runtime: Runtime;
  readonly config: Config;
  readonly log: Log;
  /** A set of its own where it is left out. */
  readonly metrics?: Metrics;
  /** Nobody's where it is left out. */
  readonly tracing?: Tracing;
  /** The API server, over connections of TokenReviews' own: those who ask with a made up token are not to hold up binds. */
  readonly reviews?: Exchange;
  /** For the user agent. */
  readonly version: string;
  /** Left out, this Berth is alone, whatever the configuration says of leader election. */
  readonly election?: Election;
}

export interface Election {
  /** The API server, over connections of the Lease's own: a renewal is not to wait behind binds, nor to be cut with them. */
  readonly exchange: Exchange;
  /** Of this incarnation of the process. */
  readonly identity: string;
  /** Cuts the writes that are out over `BerthOptions.exchange`: none of them may arrive any more. */
  readonly cutWrites: () => void;
}

export interface Berth {
  /** What kube-scheduler calls. */
  readonly extender: Exchange;
  /** Whether a call of the extender may come in, for a listener to ask before it reads the body. */
  readonly admit: (head: RequestHead) => Admission;
  /** Metrics and explanations. */
  readonly debug: Exchange;
  /** As `admit`, for the listener of `debug`; left out, all come in. */
  readonly admitDebug?: (head: RequestHead) => Promise<Admission>;
  readonly cluster: Cluster;
  /**
   * Lets no new call in, lets waiting binds go, and waits for the calls in progress, for `limits.drainTimeout` at most. What
   * binds wrote stays: the next Berth, or the next try, goes on from it.
   */
  stop(): Promise<void>;
}

/** No API call of ours takes longer where the server is well; FR-049's slow writes take 3 s. */
const apiTimeoutMs = 10_000;
/** Prometheus gives a scrape 10 s by default, and there are two reviews to make. */
const reviewTimeoutMs = 3_000;
/** Live reads at one time, those of binds included. */
const liveReadsMax = 64;
/** A bind is in no hurry: it may wait for minutes anyway. */
const bindTimes = {
  readTimeoutMs: 5_000,
  catchUpMs: 2_000,
  retryMinMs: 50,
  retryMaxMs: 5_000,
  // The API server ends a request after 60 s, so a write that was given up may land until then.
  writeLifeMs: 60_000 + apiTimeoutMs,
};

/** Starts the watches and resolves at once; `/readyz` says when all are synced. */
export async function startBerth(options: BerthOptions): Promise<Berth> {
  const { runtime, config, log, election } = options;
  const metrics = options.metrics ?? createMetrics();
  metrics.buildInfo.set({ version: options.version }, 1);
  setLimits(metrics, config);
  const cluster = new Cluster({
    runtime,
    client: clientFor(options, apiTimeoutMs),
    log,
    state: stateFor(runtime, config),
    observer: clusterObserver(metrics),
    options: { ...config.cache, liveReadsMax, nodeAnnotations: nodeAnnotations(config) },
  });
  const standDown = (why: string): void => {
    binder.standDown(why);
    election?.cutWrites();
  };
  const leadership = leadershipFor(options, { cluster, metrics, standDown });
  const memory = new CycleMemory(runtime);
  const { binder, waker } = createBinding(options, { cluster, leadership, memory, metrics });
  const server = createServer({
    cluster: ledCluster(cluster, () => leadership.readiness()),
    binder,
    waker,
    leadership,
    memory,
    ...looksFor(options),
    config,
    metrics,
    log,
    tracing: options.tracing ?? untraced,
    runtime,
  });
  cluster.start();
  leadership.start();

  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    server.calls.close();
    waker.close();
    const deadline = new AbortController();
    const drained = binder.drain().then(() => true);
    const isDrained = await Promise.race([drained, runtime.sleep(config.limits.drainTimeoutMs, deadline.signal)]);
    deadline.abort();
    const idle = await server.calls.idle(runtime, config.limits.drainTimeoutMs);
    if (!idle) log.warn({}, "Stopped with calls in progress");
    if (!isDrained) election?.cutWrites();
    await leadership.stop();
    await cluster.stop();
  };
  return {
    extender: server.extender,
    admit: server.admit,
    debug: server.debug,
    ...(server.admitDebug && { admitDebug: server.admitDebug }),
    cluster,
    stop: () => (stopped ??= stop()),
  };
}

/** For the share of each limit that is used up. */
function setLimits({ limit }: Metrics, { limits, binding, holds }: Config): void {
  limit.set({ limit: "calls" }, limits.callsMax);
  limit.set({ limit: "binds" }, binding.inProgressMax);
  limit.set({ limit: "bindsQueued" }, binding.queuedMax);
  limit.set({ limit: "holds" }, holds.podsMax);
}

/** What the API is asked for whoever looks at the debug listener. */
function looksFor(options: BerthOptions): { readonly pods: PodLists; readonly reviewer: Reviewer } {
  const client = clientFor(options, reviewTimeoutMs, options.reviews);
  return { pods: new PodLists(client), reviewer: reviewerOver(client) };
}

function reviewerOver(client: ApiClient): Reviewer {
  return {
    token: (token) => reviewToken(client, token),
    access: (user, asked) => reviewAccess(client, user, asked),
  };
}

function clientFor(
  { runtime, version, ...options }: BerthOptions,
  timeoutMs: Milliseconds,
  exchange = options.exchange,
) {
  return new ApiClient({ runtime, exchange, userAgent: `berth/${version}`, timeoutMs });
}

function leadershipFor(
  options: BerthOptions,
  deps: Pick<LeadershipDeps, "cluster" | "metrics" | "standDown">,
): RunningLeadership {
  const { runtime, log, election } = options;
  const config = options.config.leaderElection;
  // Where nobody elects, nobody is missing.
  if (!election || config.mode === "off") deps.metrics.leading.remove();
  if (!election) return alone;
  if (config.mode === "off") return withoutLease;
  const client = clientFor(options, config.renewMs / 2, election.exchange);
  return new ElectedLeadership({ ...deps, runtime, log, client, config, identity: election.identity });
}

/** Those who write. */
function createBinding(
  options: BerthOptions,
  {
    cluster,
    leadership,
    memory,
    metrics,
  }: { cluster: Cluster; leadership: RunningLeadership; memory: CycleMemory; metrics: Metrics },
) {
  const { runtime, log, election, config } = options;
  const { timeoutMs, inProgressMax, queuedMax } = config.binding;
  const isLed = election !== undefined && config.leaderElection.mode === "answers";
  const api = clientFor(options, isLed ? writeTimeoutOf(config.leaderElection) : apiTimeoutMs);
  const instance = election?.identity ?? "berth";
  const writer = new LedWriter(new ApiKubeWriter({ runtime, api, instance }), leadership);
  const binder = new Binder({
    runtime,
    cluster: ledCluster(cluster, () => leadership.readiness()),
    log,
    writer,
    observer: binderObserver(metrics),
    filterCalls: (pod) => memory.asked(pod),
    options: { bindTimeoutMs: timeoutMs, inProgressMax, queuedMax, ...bindTimes },
  });
  const ofRefused = {
    runtime,
    cluster: ledCluster(cluster, () => (leadership.mayWork() ? { ready: true } : { ready: false, why: "follower" })),
    log,
    offeredTo: (pod: PodUid) => memory.remembered(pod)?.offered,
    isBinding: (pod: PodUid) => binder.runningOn(pod) !== undefined,
  };
  const waker = new Waker({ ...ofRefused, writer, observer: { woke: (outcome) => metrics.wakes.inc({ outcome }) } });
  const teller = new RefusalTeller({ ...ofRefused, events: binder.events });
  return { binder, waker: refusalsTo(waker, teller, leadership) };
}

/** A refusal says to whom kube-scheduler comes, and so whose the waking is, and the telling. */
function refusalsTo(waker: Waker, teller: RefusalTeller, leadership: RunningLeadership) {
  const all = [waker, teller];
  return {
    asked: (pod: PodUid): void => waker.asked(pod),
    refused: (pod: Pod): void => {
      leadership.refused();
      for (const one of all) one.refused(pod);
    },
    answered: (pod: PodUid): void => {
      for (const one of all) one.answered(pod);
    },
    close: (): void => {
      for (const one of all) one.close();
    },
    waiting: (): number => waker.waitingCount(),
  };
}

/** What decides, by the configuration. */
export function stateFor(
  runtime: Pick<Runtime, "now">,
  { holds, capacity, scoring, classes, disks }: Config,
): ClusterState {
  return new ClusterState({
    clock: () => runtime.now(),
    holdTtlMs: holds.ttlMs,
    holdsMax: holds.podsMax,
    capacityPollIntervalMs: capacity.pollIntervalMs,
    // Whoever says where the capacity of a class stands says that it is provisioned from.
    provisioning: perClass(classes, ({ provisioning, capacity }) =>
      provisioning !== "auto" ? provisioning : capacity && "dynamic",
    ),
    capacitySources: perClass(classes, ({ capacity }) => capacity),
    sharedPools: perClass(classes, ({ pool }) => pool),
    disks,
    scoring,
  });
}

function perClass<T>(
  classes: Config["classes"],
  find: (override: Config["classes"][number]) => T | undefined,
): Map<ClassName, T> {
  return new Map(
    classes.flatMap((override) => {
      const found = find(override);
      return found === undefined ? [] : [[className(override.name), found] as const];
    }),
  );
}

/** What slim Nodes are to keep. */
export function nodeAnnotations({ classes }: Config): ReadonlySet<string> {
  return new Set(classes.flatMap(({ capacity }) => (capacity?.from === "annotation" ? [capacity.name] : [])));
}
