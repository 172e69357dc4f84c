/** Every metric of Berth. Labels are closed sets (verb, outcome, reason, kind): a Pod, node or claim is never one. */
import { Counter, exponentialBuckets, Gauge, Histogram, Registry } from "prom-client";
import { observed } from "./metrics/observed.ts";
import { kinds } from "./scheduling/objects.ts";

const prefix = "berth";

export const verbs = ["filter", "prioritize", "preempt", "bind"] as const;
export type Verb = (typeof verbs)[number];

/** How a call ended. */
export type CallOutcome =
  /** The Pod mounts no claim. */
  | "free"
  /** filter: at least one node, or none. */
  | "feasible"
  | "infeasible"
  /** prioritize: scores, or no opinion. */
  | "scored"
  | "equal"
  /** preempt: candidates left, or none. */
  | "kept"
  | "dropped"
  | "bound"
  /** `Error` in the reply. */
  | "error"
  /** 400, 413 or 415. */
  | "undecodable";

/** Why a call was answered with `Error`. */
export type ErrorCause =
  | "notReady"
  | "behind"
  | "liveReadFailed"
  | "unreadable"
  | "nodesUnknown"
  | "malformed"
  | "bind";

/** Why nothing was done for a call: answered 503, or its caller went before its turn came. */
export type RejectionCause = "draining" | "tooManyCalls" | "tooManyBytes" | "callerGone";

export type ListenerName = "extender" | "debug";

export type Metrics = ReturnType<typeof createMetrics>;

/** A registry of its own for each Berth, so that no two tests share a counter. */
export function createMetrics(registry = new Registry()) {
  const registers = [registry];
  const metrics = {
    registry,
    callDuration: new Histogram({
      name: `${prefix}_call_duration_seconds`,
      help: "Time to answer one call of kube-scheduler, from the body read to the reply encoded.",
      labelNames: ["verb", "outcome"],
      // 0.25 ms … 1,024 s in steps of four: filter ends in milliseconds, bind may wait for ten minutes.
      buckets: exponentialBuckets(0.00025, 4, 12),
      registers,
    }),
    callErrors: new Counter({
      name: `${prefix}_call_errors_total`,
      help: "Calls answered with Error, by cause. kube-scheduler asks again within seconds.",
      labelNames: ["verb", "cause"],
      registers,
    }),
    callsRejected: new Counter({
      name: `${prefix}_calls_rejected_total`,
      help: "Calls for which nothing was done, by cause: turned away with 503, or the caller went before their turn came.",
      labelNames: ["verb", "cause"],
      registers,
    }),
    callFaults: new Counter({
      name: `${prefix}_call_faults_total`,
      help: "Calls that broke on a fault of Berth and were answered 500.",
      labelNames: ["verb"],
      registers,
    }),
    callsInProgress: new Gauge({
      name: `${prefix}_calls_in_progress`,
      help: "Calls being answered.",
      labelNames: ["verb"],
      registers,
    }),
    ...ofAnswers(registers),
    ...ofBinding(registers),
    ...ofWatching(registers),
    ...ofElection(registers),
    ...ofListeners(registers),
    ...observed(registers),
  };
  // What increase() is asked of has to be there before it happens.
  for (const verb of verbs) metrics.callFaults.inc({ verb }, 0);
  for (const kind of kinds) metrics.setAside.inc({ kind }, 0);
  return metrics;
}

function ofAnswers(registers: Registry[]) {
  return {
    nodesRefused: new Counter({
      name: `${prefix}_nodes_refused_total`,
      help: "Nodes refused by filter, by the first reason found.",
      labelNames: ["reason"],
      registers,
    }),
    podsRefused: new Counter({
      name: `${prefix}_pods_refused_total`,
      help: "Filter calls that refused every node for one reason of the Pod's own.",
      labelNames: ["reason"],
      registers,
    }),
    liveReads: new Counter({
      name: `${prefix}_live_reads_total`,
      help: "Reads of objects that a decision needed and the cache lacked.",
      labelNames: ["kind", "outcome"],
      registers,
    }),
  };
}

function ofBinding(registers: Registry[]) {
  return {
    binds: new Counter({
      name: `${prefix}_binds_total`,
      help: "Binds that ended, by how. Calls that joined one count with it.",
      labelNames: ["ending"],
      registers,
    }),
    bindDuration: new Histogram({
      name: `${prefix}_bind_duration_seconds`,
      help: "Time from a bind's first call to its end, the wait for the claims included.",
      labelNames: ["ending"],
      // 1 ms … 1,049 s in steps of four: a bind may wait for a provisioner for ten minutes.
      buckets: exponentialBuckets(0.001, 4, 11),
      registers,
    }),
    bindWait: new Histogram({
      name: `${prefix}_bind_wait_seconds`,
      help: "Time from the last volume write of a bind to all claims bound: the PV controller's and the provisioner's share.",
      buckets: exponentialBuckets(0.001, 4, 11),
      registers,
    }),
    provisionerRefusals: new Counter({
      name: `${prefix}_provisioner_refusals_total`,
      help: "Claims that their provisioner gave back during a bind: the node then rests for that claim, for longer each time.",
      registers,
    }),
    writeDuration: new Histogram({
      name: `${prefix}_write_duration_seconds`,
      help: "Time of one write to the API, by what was written and how it went.",
      labelNames: ["write", "result"],
      // 1 ms … 16 s.
      buckets: exponentialBuckets(0.001, 4, 8),
      registers,
    }),
  };
}

function ofWatching(registers: Registry[]) {
  return {
    changes: new Counter({
      name: `${prefix}_watch_changes_total`,
      help: "Changes that the watches delivered and that were news.",
      labelNames: ["kind"],
      registers,
    }),
    lists: new Counter({
      name: `${prefix}_lists_total`,
      help: "Whole lists taken: one a kind at start, more after a watch expired.",
      labelNames: ["kind"],
      registers,
    }),
    watchEnds: new Counter({
      name: `${prefix}_watch_ends_total`,
      help: "Watches that ended, by how. Closed is ordinary: the server ends each after some minutes.",
      labelNames: ["kind", "how"],
      registers,
    }),
    wakes: new Counter({
      name: `${prefix}_wakes_total`,
      help: "Refused Pods that were woken because their cause was gone and kube-scheduler could not see it.",
      labelNames: ["outcome"],
      registers,
    }),
    setAside: new Counter({
      name: `${prefix}_objects_set_aside_total`,
      help: "Objects that came in and could not be read. Pods that need one are answered with Error.",
      labelNames: ["kind"],
      registers,
    }),
  };
}

function ofElection(registers: Registry[]) {
  return {
    leading: new Gauge({
      name: `${prefix}_leading`,
      help: "1 while this Berth holds the Lease; of all that share one, one at most.",
      registers,
    }),
    leads: new Counter({
      name: `${prefix}_leads_total`,
      help: "Times that this Berth got the Lease, by how: created, released, expired, taken.",
      labelNames: ["how"],
      registers,
    }),
    leadsLost: new Counter({
      name: `${prefix}_leads_lost_total`,
      help: "Times that this Berth lost the Lease; one that it put down itself is not lost.",
      registers,
    }),
    leaseFailures: new Counter({
      name: `${prefix}_lease_failures_total`,
      help: "Reads and writes of the Lease that failed; conflicts are none.",
      registers,
    }),
  };
}

function ofListeners(registers: Registry[]) {
  return {
    connectionsTurnedAway: new Counter({
      name: `${prefix}_connections_turned_away_total`,
      help: "Connections that ended before a request: there were too many, or TLS did not come about.",
      labelNames: ["listener", "cause"],
      registers,
    }),
    callersRefused: new Counter({
      name: `${prefix}_callers_refused_total`,
      help: "Requests of callers who may not ask, by cause.",
      labelNames: ["listener", "cause"],
      registers,
    }),
    certificateExpiry: new Gauge({
      name: `${prefix}_tls_certificate_expiry_timestamp_seconds`,
      help: "When the certificate that a listener serves with ends, in seconds since 1970.",
      labelNames: ["listener"],
      registers,
    }),
    tlsReloads: new Counter({
      name: `${prefix}_tls_reloads_total`,
      help: "Looks at TLS files that had changed: renewed, or refused, which is counted again while it lasts.",
      labelNames: ["listener", "outcome"],
      registers,
    }),
  };
}
