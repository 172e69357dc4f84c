/** What the binder asks of the other rooms and of whoever watches it, declared by the one who asks. */
import type { Log } from "../runtime/log.ts";
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import type { ClaimKey, ClaimUid, NodeName, PodKey, PodUid, VolumeName } from "../scheduling/names.ts";
import type { Kind, Kinds, ObjectKey } from "../scheduling/objects.ts";
import type { ClusterState } from "../scheduling/state.ts";
import type { BindEnding } from "./endings.ts";

export interface Change {
  readonly kind: Kind;
  readonly key: ObjectKey;
  readonly deleted: boolean;
}

export type LiveRead<K extends Kind> =
  | { readonly found: true; readonly object: Kinds[K] }
  | { readonly found: false }
  /** `retryAfterMs` is how long the API wants to be left alone. */
  | { readonly failed: string; readonly retryAfterMs?: Milliseconds | undefined };

/** Berth's belief of the cluster, its changes, and a look past it. */
export interface BindingCluster {
  readonly state: ClusterState;
  readiness(): { readonly ready: true } | { readonly ready: false; readonly why: string };
  /** Calls back in the turn of each change, after the state has it. */
  subscribe(listener: (change: Change) => void): () => void;
  /** One read past the cache. Never rejects. */
  live<K extends Kind>(kind: K, key: ObjectKey, signal: AbortSignal): Promise<LiveRead<K>>;
}

export type WriteOutcome =
  /** `version` is the resourceVersion the write made, where the answer could be read. */
  | { readonly ok: true; readonly version?: string | undefined }
  | {
      readonly ok: false;
      /** Absent where no answer came. */
      readonly status?: number | undefined;
      readonly message: string;
      readonly retryAfterMs?: Milliseconds | undefined;
      /** The write may have taken effect, or may yet. */
      readonly ambiguous: boolean;
    };

/** Writes `spec.claimRef`; fails with 409 where the volume is no longer of this uid and version. */
export interface VolumeClaiming {
  readonly volume: VolumeName;
  readonly uid: string;
  readonly version: string;
  readonly claim: { readonly key: ClaimKey; readonly uid: ClaimUid; readonly version: string };
  /** Sets pv.kubernetes.io/bound-by-controller: the volume was not meant for the claim before. */
  readonly marksBoundByController: boolean;
}

/** Takes `spec.claimRef` back, under the same precondition. */
export interface VolumeRelease {
  readonly volume: VolumeName;
  readonly uid: string;
  readonly version: string;
  /** The claimRef by name stays, as a user wrote it; only uid and resourceVersion go. */
  readonly keepsName: boolean;
}

export interface NodeSelection {
  readonly claim: ClaimKey;
  readonly uid: ClaimUid;
  readonly version: string;
  readonly node: NodeName;
}

export interface PodAssignment {
  readonly namespace: string;
  readonly name: string;
  readonly uid: PodUid;
  readonly node: NodeName;
}

export interface PodEvent {
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: PodUid;
  readonly type: "Normal" | "Warning";
  readonly reason: EventReason;
  readonly note: string;
}

/** Reasons of the events that Berth writes on Pods: a closed set, for people filter by them. */
export type EventReason =
  /** Every claim is bound and the Pod is assigned. */
  | "BerthVolumesBound"
  /** The bind ended without the Pod assigned; the note says why and what is left in the API. */
  | "BerthBindFailed"
  /** Filter refuses every node, and has done so for a while; the note says why, with names and numbers. */
  | "BerthVolumesUnavailable";

/** An event as it is written. `count`: how often it was said by now. */
export interface RecordedEvent extends PodEvent {
  readonly name: string;
  readonly count: number;
}

export interface PodWake {
  readonly pod: PodKey;
  readonly uid: PodUid;
}

/** Every write that Berth's binder ever makes. Each ends in bounded time and never rejects. */
export interface KubeWriter {
  claimVolume(write: VolumeClaiming): Promise<WriteOutcome>;
  releaseVolume(write: VolumeRelease): Promise<WriteOutcome>;
  selectNode(write: NodeSelection): Promise<WriteOutcome>;
  bindPod(write: PodAssignment): Promise<WriteOutcome>;
  /** A condition in the Pod's status, new each time: kube-scheduler looks at the Pod again. */
  wakePod(write: PodWake): Promise<WriteOutcome>;
  recordEvent(event: RecordedEvent): Promise<WriteOutcome>;
  /** Makes a series of an event that is there. */
  repeatEvent(event: Pick<RecordedEvent, "namespace" | "name" | "count">): Promise<WriteOutcome>;
  /** The newest Warning event about a claim, for an error text; undefined where there is none or it cannot be read. */
  lastWarning(claim: ClaimKey, uid: ClaimUid): Promise<string | undefined>;
}

export type WriteKind = "claimRef" | "release" | "selectedNode" | "binding" | "event";
export type WriteResult = "ok" | "conflict" | "refused" | "throttled" | "ambiguous";

/** For metrics. None may throw. */
export interface BinderObserver {
  readonly ended?: (ending: BindEnding, durationMs: Milliseconds) => void;
  readonly wrote?: (kind: WriteKind, result: WriteResult, durationMs: Milliseconds) => void;
  /** From the last volume write to all claims bound. */
  readonly waited?: (durationMs: Milliseconds) => void;
  readonly inProgress?: (count: number) => void;
  /** A provisioner gave a claim of a bind in progress back. */
  readonly provisionerRefused?: () => void;
}

export interface BinderOptions {
  /** How long a bind waits for its claims, from the last call that joined it. */
  readonly bindTimeoutMs: Milliseconds;
  /** Binds of Pods with claims at one time. */
  readonly inProgressMax: number;
  /** Binds that wait for a place; one more is answered with an Error. */
  readonly queuedMax: number;
  /** A live read without an answer by then has failed. */
  readonly readTimeoutMs: Milliseconds;
  /** How long to wait for the watch to show what a live read has shown. */
  readonly catchUpMs: Milliseconds;
  /** Pauses between tries grow from the one to the other. */
  readonly retryMinMs: Milliseconds;
  readonly retryMaxMs: Milliseconds;
  /** A write given up this long ago can no longer land: the API server ends every request after a minute. */
  readonly writeLifeMs: Milliseconds;
}

/** What nobody needs to set: how the binder deals with a slow or failing API. */
export const binderTimings = {
  readTimeoutMs: 2_000,
  // Watches deliver within milliseconds; kube-scheduler asks again within seconds.
  catchUpMs: 2_000,
  retryMinMs: 50,
  retryMaxMs: 5_000,
  // The API server's own --request-timeout is 60 s.
  writeLifeMs: 70_000,
} as const satisfies Partial<BinderOptions>;

/** How filter fared with a Pod so far. */
export interface FilterCalls {
  readonly tries: number;
  /** Since 1970. */
  readonly firstAtMs: Milliseconds;
}

export interface BinderDeps {
  readonly runtime: Runtime;
  readonly cluster: BindingCluster;
  readonly writer: KubeWriter;
  readonly log: Log;
  readonly observer?: BinderObserver;
  /** For the event of a Pod that is placed; undefined where this Berth was not asked about it. */
  readonly filterCalls?: (pod: PodUid) => FilterCalls | undefined;
  readonly options: BinderOptions;
}
