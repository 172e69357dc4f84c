/**
 * The binder's writes as requests. Volumes and claims are changed by merge patches that name uid and resourceVersion, so that
 * a write which was decided on an older object can never land (FR-080: the patch type is named).
 */

import { objectPath } from "../apis/kubernetes.ts";
import { boundByController, selectedNode, volumesAvailable } from "../apis/labels.ts";
import type { ApiClient } from "../kube/client.ts";
import type { Outcome } from "../kube/outcome.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { type ClaimKey, type ClaimUid, podKey, splitKey } from "../scheduling/names.ts";
import type { Kind } from "../scheduling/objects.ts";
import type {
  EventReason,
  KubeWriter,
  NodeSelection,
  PodAssignment,
  PodWake,
  RecordedEvent,
  VolumeClaiming,
  VolumeRelease,
  WriteOutcome,
} from "./ports.ts";

/** The API client, as far as writes need it. Its own timeout is the longest that a write may be out. */
export type WriterApi = Pick<ApiClient, "get" | "post" | "patch">;

/** Events longer than this are refused. @see kubernetes pkg/apis/core/validation/events.go, NoteLengthLimit */
const noteLengthMax = 1024;
/** @see the same file, ReportingInstanceLengthLimit */
const instanceLengthMax = 128;
/** Who reports events, of whichever instance: a qualified name, as the API asks for. */
const reportingController = "berth.dev/berth";

/** What was being done, in the words of kube-scheduler's own events. */
const actions: Readonly<Record<EventReason, "Binding" | "Scheduling">> = {
  BerthVolumesBound: "Binding",
  BerthBindFailed: "Binding",
  BerthVolumesUnavailable: "Scheduling",
};

export class ApiKubeWriter implements KubeWriter {
  readonly #runtime: Runtime;
  readonly #api: WriterApi;
  /** Which of several Berths reports events. */
  readonly #instance: string;

  constructor(deps: { readonly runtime: Runtime; readonly api: WriterApi; readonly instance: string }) {
    this.#runtime = deps.runtime;
    this.#api = deps.api;
    this.#instance = deps.instance.slice(0, instanceLengthMax);
  }

  claimVolume({ volume, uid, version, claim, marksBoundByController }: VolumeClaiming): Promise<WriteOutcome> {
    const annotations = marksBoundByController && { annotations: { [boundByController]: "yes" } };
    const claimRef = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      ...splitKey(claim.key),
      uid: claim.uid,
      resourceVersion: claim.version,
    };
    const patch = { metadata: { uid, resourceVersion: version, ...annotations }, spec: { claimRef } };
    return this.#patch("volume", volume, patch);
  }

  wakePod({ pod, uid }: PodWake): Promise<WriteOutcome> {
    const at = `${new Date(this.#runtime.wallTime()).toISOString().slice(0, 19)}Z`;
    const condition = {
      type: volumesAvailable,
      status: "True",
      reason: "CauseGone",
      message: "What the volume extender refused the pod for is gone",
      lastProbeTime: at,
      lastTransitionTime: at,
    };
    // Strategic, so that the other conditions stay; the uid keeps it off a Pod that took the name.
    const patch = { metadata: { uid }, status: { conditions: [condition] } };
    return this.#send(objectPath("pod", pod), (path) => this.#api.patch(`${path}/status`, "strategic", patch));
  }

  releaseVolume({ volume, uid, version, keepsName }: VolumeRelease): Promise<WriteOutcome> {
    const metadata = { uid, resourceVersion: version };
    const patch = keepsName
      ? { metadata, spec: { claimRef: { uid: null, resourceVersion: null } } }
      : { metadata: { ...metadata, annotations: { [boundByController]: null } }, spec: { claimRef: null } };
    return this.#patch("volume", volume, patch);
  }

  selectNode({ claim, uid, version, node }: NodeSelection): Promise<WriteOutcome> {
    const metadata = { uid, resourceVersion: version, annotations: { [selectedNode]: node } };
    return this.#patch("claim", claim, { metadata });
  }

  /** The status decides: what the API sends back with a 201 is a Status where its schema says Binding (FR-079). */
  bindPod({ namespace, name, uid, node }: PodAssignment): Promise<WriteOutcome> {
    const binding = {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { namespace, name, uid },
      target: { apiVersion: "v1", kind: "Node", name: node },
    };
    return this.#send(objectPath("pod", podKey(namespace, name)), (path) => this.#api.post(`${path}/binding`, binding));
  }

  recordEvent(event: RecordedEvent): Promise<WriteOutcome> {
    const { namespace, name, count, pod, podUid, type, reason, note } = event;
    const body = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { namespace, name },
      eventTime: this.#microTime(),
      // A series begins with the second.
      ...(count > 1 && { series: { count, lastObservedTime: this.#microTime() } }),
      reportingController,
      reportingInstance: this.#instance,
      action: actions[reason],
      reason,
      type,
      note: note.length > noteLengthMax ? `${note.slice(0, noteLengthMax - 1)}…` : note,
      regarding: { apiVersion: "v1", kind: "Pod", namespace, name: pod, uid: podUid },
    };
    return this.#send(eventsPath(namespace), (to) => this.#api.post(to, body));
  }

  repeatEvent({ namespace, name, count }: Pick<RecordedEvent, "namespace" | "name" | "count">): Promise<WriteOutcome> {
    const series = { count, lastObservedTime: this.#microTime() };
    const path = `${eventsPath(namespace)}/${encodeURIComponent(name)}`;
    return this.#send(path, (to) => this.#api.patch(to, "merge", { series }));
  }

  async lastWarning(claim: ClaimKey, uid: ClaimUid): Promise<string | undefined> {
    const { namespace } = splitKey(claim);
    const selector = encodeURIComponent(`involvedObject.uid=${uid},type=Warning`);
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events?fieldSelector=${selector}&limit=50`;
    const outcome = await this.#api.get(path);
    return outcome.ok ? newestMessage(outcome.body) : undefined;
  }

  /** The API's MicroTime. */
  #microTime(): string {
    return new Date(this.#runtime.wallTime()).toISOString().replace("Z", "000Z");
  }

  #patch(kind: Kind, key: string, patch: object): Promise<WriteOutcome> {
    return this.#send(objectPath(kind, key), (path) => this.#api.patch(path, "merge", patch));
  }

  async #send(path: string | undefined, send: (path: string) => Promise<Outcome>): Promise<WriteOutcome> {
    if (path === undefined) return { ok: false, status: 400, message: "the name can be no object's", ambiguous: false };
    const outcome = await send(path);
    return outcome.ok ? { ok: true, version: versionIn(outcome.body) } : outcome;
  }
}

function eventsPath(namespace: string): string {
  return `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/events`;
}

function versionIn(body: unknown): string | undefined {
  const version = (body as { metadata?: { resourceVersion?: unknown } } | null)?.metadata?.resourceVersion;
  return typeof version === "string" ? version : undefined;
}

function newestMessage(body: unknown): string | undefined {
  const items = (body as { items?: unknown } | null)?.items;
  if (!Array.isArray(items)) return undefined;
  let newest: { at: string; message: string } | undefined;
  for (const item of items as readonly Record<string, unknown>[]) {
    const { lastTimestamp, eventTime, message } = item;
    const at = String(lastTimestamp ?? eventTime ?? "");
    if (typeof message === "string" && (!newest || at >= newest.at)) newest = { at, message };
  }
  return newest?.message;
}
