/** What a watch asks for, and what its events say of themselves. */
import { kindInfo } from "../apis/kubernetes.ts";
import { fieldsOf } from "../kube/outcome.ts";
import type { Kind } from "../scheduling/objects.ts";

/** The server ends watches after this, spread so that not all kinds reconnect at once. */
const watchSecondsMin = 300;
const watchSecondsMax = 600;
/** @see KEP-3157: marks the bookmark after the last initial event */
const initialEventsEnd = "k8s.io/initial-events-end";

export type EventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";

/**
 * @param version  where to go on; undefined begins with all objects
 * @param share  how long the watch is to last, in [0, 1)
 */
export function watchPath(kind: Kind, version: string | undefined, share: number): string {
  const { path, fieldSelector } = kindInfo[kind];
  const seconds = Math.round(watchSecondsMin + share * (watchSecondsMax - watchSecondsMin));
  const query = new URLSearchParams({ watch: "true", allowWatchBookmarks: "true", timeoutSeconds: String(seconds) });
  if (fieldSelector !== undefined) query.set("fieldSelector", fieldSelector);
  if (version !== undefined) query.set("resourceVersion", version);
  else {
    query.set("sendInitialEvents", "true");
    query.set("resourceVersionMatch", "NotOlderThan");
  }
  return `${path}?${query}`;
}

export function isEventType(type: string): type is EventType {
  return type === "ADDED" || type === "MODIFIED" || type === "DELETED" || type === "BOOKMARK";
}

export function isInitialEnd(bookmark: unknown): boolean {
  return fieldsOf(fieldsOf(fieldsOf(bookmark)["metadata"])["annotations"])[initialEventsEnd] === "true";
}
