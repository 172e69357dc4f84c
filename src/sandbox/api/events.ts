/** Events exist in two groups: kept as core/v1, shown and taken as events.k8s.io/v1 too. */
import type { ApiObject } from "./json.ts";

/** Core's name and the group's name of what is the same field. */
const renamed: readonly (readonly [string, string])[] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"],
];

function rename(event: ApiObject, from: 0 | 1, to: 0 | 1, apiVersion: string): ApiObject {
  const names = new Map(renamed.map((pair) => [pair[from], pair[to]]));
  const entries = Object.entries(event).map(([field, value]) => [names.get(field) ?? field, value]);
  return { ...(Object.fromEntries(entries) as ApiObject), apiVersion };
}

export function eventToGrouped(event: ApiObject): ApiObject {
  return rename(event, 0, 1, "events.k8s.io/v1");
}

export function eventToCore(event: ApiObject): ApiObject {
  return rename(event, 1, 0, "v1");
}
