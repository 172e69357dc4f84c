/** What the server asks of the other rooms, declared by the one who asks. */

import type { Config } from "../config.ts";
import type { AccessVerdict, AskedPath, ReviewedUser, TokenVerdict } from "../kube/reviews.ts";
import type { Log } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import type { HttpReply, HttpRequest, Runtime } from "../runtime/runtime.ts";
import type { Span, Tracing } from "../runtime/tracing.ts";
import type { NodeName, PodUid } from "../scheduling/names.ts";
import type { Kind, ObjectKey, Pod } from "../scheduling/objects.ts";
import type { ClusterState } from "../scheduling/state.ts";
import type { CycleMemory } from "./memory.ts";
import type { PodSource } from "./placing.ts";

export type Readiness = { readonly ready: true } | { readonly ready: false; readonly why: string };

export type LiveOutcome = { readonly found: true } | { readonly found: false } | { readonly failed: string };

export interface ClusterView {
  readonly state: ClusterState;
  /** Whether what the state lacks may be called missing. */
  readiness(): Readiness;
  /** Milliseconds since the watch of each kind last said anything; undefined before its first list. */
  ages(): Readonly<Record<Kind, number | undefined>>;
  /** One read past the cache. Never rejects. */
  live(kind: Kind, key: ObjectKey, signal: AbortSignal): Promise<LiveOutcome>;
}

export interface BindRequest {
  readonly podName: string;
  readonly podNamespace: string;
  readonly podUid: string;
  readonly node: string;
}

export type BindOutcome = { readonly ok: true } | { readonly ok: false; readonly error: string };

export interface PodBinder {
  /** Aborting `signal` says that the caller hung up; what is done becomes pieces of `span`. Never rejects. */
  bind(request: BindRequest, signal: AbortSignal, span: Span): Promise<BindOutcome>;
  /** A newer filter call of the Pod: a bind in progress lets its caller go and posts no Binding until somebody joins. */
  filterSeen(pod: PodUid): void;
  /** The node that the Pod is being bound to. */
  runningOn(pod: PodUid): NodeName | undefined;
  /** The binds in progress, as `/debug/state` prints them. */
  inProgress(): readonly object[];
  /** Lets all waiting callers go; writes that are out are awaited. */
  drain(): Promise<void>;
}

/** Who wakes Pods whose refusal has lost its cause. */
export interface PodWaker {
  asked(pod: PodUid): void;
  refused(pod: Pod): void;
  answered(pod: PodUid): void;
  /** Pods that were refused on every node and wait for something to change. */
  waiting(): number;
}

/** Who may do what, where several Berths may run. */
export interface Leadership {
  /** Whether the answers for Pods with claims are this Berth's to give. */
  readiness(): Readiness;
  /** Whether volumes and claims may be written in this very moment. */
  mayWrite(): boolean;
  /** Whether work that nobody asked for, such as waking Pods, is this Berth's to do. */
  mayWork(): boolean;
  /** A Pod was refused: whoever was asked is the one to wake it. */
  refused(): void;
  /** As `/debug/state` prints it. */
  describe(): object;
}

/** Who a caller of the debug listener is, and what he may read, as the API server says. Never rejects. */
export interface Reviewer {
  token(token: string): Promise<TokenVerdict>;
  access(user: ReviewedUser, asked: AskedPath): Promise<AccessVerdict>;
}

/** Everything that the verbs and the debug pages work with. */
export interface Parts {
  readonly cluster: ClusterView;
  readonly binder: PodBinder;
  readonly waker: PodWaker;
  readonly leadership: Pick<Leadership, "readiness" | "describe">;
  readonly memory: CycleMemory;
  readonly reviewer: Reviewer;
  /** Pods that the cache does not keep. */
  readonly pods: PodSource;
  readonly config: Config;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly tracing: Tracing;
  readonly runtime: Runtime;
}

export type Params = ReadonlyMap<string, string>;
export type Handler = (request: HttpRequest, signal: AbortSignal, params: Params) => Promise<HttpReply>;
