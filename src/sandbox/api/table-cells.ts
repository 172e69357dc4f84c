/** What stands in one cell of a table: a field, a sum, an age. */
import { type ApiObject, at, isObject, type JsonValue, listAt, numberAt, textAt } from "./json.ts";

export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean";
  /** Shown by `-o wide` only. */
  readonly wide: boolean;
  readonly cell: (object: ApiObject, now: number) => JsonValue;
}

type Cell = Column["cell"];

export const text = (name: string, cell: Cell): Column => ({ name, type: "string", wide: false, cell });
export const wide = (name: string, cell: Cell): Column => ({ name, type: "string", wide: true, cell });
export const count = (name: string, ...path: readonly string[]): Column => {
  return { name, type: "integer", wide: false, cell: (object) => numberAt(object, ...path) ?? 0 };
};
/** A field's text, or what kubectl shows when it is unset. */
export const field =
  (path: string, unset = ""): Cell =>
  (object) => {
    const value = at(object, ...path.split("."));
    return value === undefined || value === null || value === "" ? unset : String(value);
  };

const secondsInDay = 86_400;

/** Short like `duration.HumanDuration`: two units where one would say too little. */
function humanDuration(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(seconds / secondsInDay);
  const years = Math.floor(days / 365);
  const pair = (a: number, unit: string, b: number, small: string): string =>
    `${a}${unit}${b > 0 ? `${b}${small}` : ""}`;
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return pair(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return pair(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  if (days < 8) return pair(days, "d", hours % 24, "h");
  if (years < 2) return `${days}d`;
  if (years < 8) return pair(years, "y", days % 365, "d");
  return `${years}y`;
}

export const since =
  (read: (object: ApiObject) => string): Cell =>
  (object, now) => {
    const then = Date.parse(read(object));
    return Number.isNaN(then) ? "<unknown>" : humanDuration(now - then);
  };

export const name = text("Name", ({ metadata }) => metadata.name);
export const age = text(
  "Age",
  since(({ metadata }) => metadata.creationTimestamp ?? ""),
);

const modeNames = new Map([
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
]);

export const accessModes =
  (...path: readonly string[]): Cell =>
  (object) =>
    listAt(object, ...path)
      .map((mode) => modeNames.get(String(mode)) ?? String(mode))
      .join(",");

export const volumeClass = text("VolumeAttributesClass", field("spec.volumeAttributesClassName", "<unset>"));

export function podStatus({ metadata, spec, status }: ApiObject): string {
  if (metadata.deletionTimestamp) return "Terminating";
  const reason = textAt(status, "reason");
  if (reason !== "") return reason;
  const gated = textAt(spec, "nodeName") === "" && listAt(spec, "schedulingGates").length > 0;
  return gated ? "SchedulingGated" : textAt(status, "phase");
}

export function readyContainers({ spec, status }: ApiObject): string {
  const ready = listAt(status, "containerStatuses").filter((container) => at(container, "ready") === true);
  return `${ready.length}/${listAt(spec, "containers").length}`;
}

export function restarts({ status }: ApiObject): string {
  const counts = listAt(status, "containerStatuses").map((container) => numberAt(container, "restartCount") ?? 0);
  return String(counts.reduce((sum, one) => sum + one, 0));
}

export function nodeStatus({ spec, status }: ApiObject): string {
  const ready = listAt(status, "conditions").find((condition) => textAt(condition, "type") === "Ready");
  const words = [ready === undefined ? "Unknown" : textAt(ready, "status") === "True" ? "Ready" : "NotReady"];
  if (at(spec, "unschedulable") === true) words.push("SchedulingDisabled");
  return words.join(",");
}

export function nodeRoles({ metadata }: ApiObject): string {
  const prefix = "node-role.kubernetes.io/";
  const roles = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(prefix));
  return roles.map((label) => label.slice(prefix.length)).join(",") || "<none>";
}

export const addressOf =
  (type: string): Cell =>
  ({ status }) =>
    textAt(
      listAt(status, "addresses").find((address) => textAt(address, "type") === type),
      "address",
    ) || "<none>";

export function claimOf({ spec }: ApiObject): string {
  const claim = at(spec, "claimRef");
  return isObject(claim) ? `${textAt(claim, "namespace")}/${textAt(claim, "name")}` : "";
}

export function className({ metadata }: ApiObject): string {
  const isDefault = metadata.annotations?.["storageclass.kubernetes.io/is-default-class"] === "true";
  return isDefault ? `${metadata.name} (default)` : metadata.name;
}

export const size =
  (path: string): Cell =>
  (object) => {
    const found = at(object, path);
    return isObject(found) ? Object.keys(found).length : 0;
  };

export function eventObject({ involvedObject, regarding }: ApiObject): string {
  const about = involvedObject ?? regarding;
  return `${textAt(about, "kind").toLowerCase()}/${textAt(about, "name")}`;
}

export const lastSeen = (event: ApiObject): string =>
  textAt(event, "series", "lastObservedTime") ||
  textAt(event, "lastTimestamp") ||
  textAt(event, "eventTime") ||
  (event.metadata.creationTimestamp ?? "");

export function servicePorts({ spec }: ApiObject): string {
  const ports = listAt(spec, "ports");
  return ports.map((port) => `${numberAt(port, "port")}/${textAt(port, "protocol")}`).join(",") || "<none>";
}

export function readyReplicas({ spec, status }: ApiObject): string {
  return `${numberAt(status, "readyReplicas") ?? 0}/${numberAt(spec, "replicas") ?? 0}`;
}
