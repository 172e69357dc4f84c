/**
 * Storage that a sandbox has and a cluster would find on its machines, as a document among the manifests:
 *
 *     apiVersion: berth.dev/v1alpha1
 *     kind: SandboxConfiguration
 *     drivers:                          # CSI drivers, each with a pool of storage on every node named
 *     - name: lvm.example.com
 *       capacity: { alpha: 100Gi, bravo: 50Gi }         # by the value of the node's topology label
 *       topologyKey: kubernetes.io/hostname             # optional, as is all that follows
 *       publishesCapacity: true
 *       pollSeconds: 60
 *       createSeconds: 0
 *     disks:                            # local disks, each published as a PersistentVolume and made anew when clean
 *     - { name: alpha-nvme-1, node: alpha, class: local-nvme, capacity: 100Gi }
 *     - { name: alpha-nvme-2, node: alpha, class: local-nvme, capacity: 1Ti, cleanSeconds: 5, labels: { media: slow } }
 */
import type { DriverConfiguration } from "./backend.ts";
import type { LocalDisk } from "./local-disks.ts";

export interface SandboxConfiguration {
  readonly drivers: readonly DriverConfiguration[];
  readonly disks: readonly LocalDisk[];
}

/** A SandboxConfiguration that cannot be read; says which field. */
export class ConfigurationError extends Error {}

type Fields = Readonly<Record<string, unknown>>;

export function isSandboxConfiguration(object: Fields): boolean {
  return object["kind"] === "SandboxConfiguration" && String(object["apiVersion"]).startsWith("berth.dev/");
}

/** @throws ConfigurationError */
export function parseSandboxConfiguration(object: Fields): SandboxConfiguration {
  const known = ["apiVersion", "kind", "metadata", "drivers", "disks"];
  refuseUnknown(object, known, "SandboxConfiguration");
  return {
    drivers: listOf(object, "drivers").map((one, index) => parseDriver(one, `drivers[${index}]`)),
    disks: listOf(object, "disks").map((one, index) => parseDisk(one, `disks[${index}]`)),
  };
}

function parseDriver(one: Fields, where: string): DriverConfiguration {
  const known = ["name", "capacity", "topologyKey", "publishesCapacity", "pollSeconds", "createSeconds"];
  refuseUnknown(one, known, where);
  const topologyKey = textOf(one, "topologyKey", where, false);
  const publishes = one["publishesCapacity"];
  if (publishes !== undefined && typeof publishes !== "boolean")
    throw wrong(`${where}.publishesCapacity`, "true or false");
  return {
    name: textOf(one, "name", where),
    capacity: textsOf(one["capacity"] ?? {}, `${where}.capacity`),
    ...(topologyKey === "" ? {} : { topologyKey }),
    ...(publishes === undefined ? {} : { publishesCapacity: publishes }),
    ...secondsOf(one, "pollSeconds", "pollMs", where),
    ...secondsOf(one, "createSeconds", "createMs", where),
  };
}

function parseDisk(one: Fields, where: string): LocalDisk {
  const known = ["name", "node", "class", "capacity", "labels", "volumeMode", "cleanSeconds"];
  refuseUnknown(one, known, where);
  const volumeMode = textOf(one, "volumeMode", where, false);
  return {
    name: textOf(one, "name", where),
    node: textOf(one, "node", where),
    class: textOf(one, "class", where),
    capacity: textOf(one, "capacity", where),
    ...(one["labels"] === undefined ? {} : { labels: textsOf(one["labels"], `${where}.labels`) }),
    ...(volumeMode === "" ? {} : { volumeMode }),
    ...secondsOf(one, "cleanSeconds", "cleanMs", where),
  };
}

function wrong(where: string, wanted: string): ConfigurationError {
  return new ConfigurationError(`${where} must be ${wanted}`);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refuseUnknown(fields: Fields, known: readonly string[], where: string): void {
  const odd = Object.keys(fields).find((field) => !known.includes(field));
  if (odd !== undefined) throw new ConfigurationError(`${where} has no field "${odd}"; it has ${known.join(", ")}`);
}

function listOf(fields: Fields, field: string): Fields[] {
  const value = fields[field] ?? [];
  if (!Array.isArray(value) || !value.every(isFields)) throw wrong(field, "a list of objects");
  return value;
}

/** Quantities may be written as numbers. */
function textOf(fields: Fields, field: string, where: string, isNeeded = true): string {
  const value = fields[field] ?? "";
  if (typeof value !== "string" && typeof value !== "number") throw wrong(`${where}.${field}`, "a text");
  if (value === "" && isNeeded) throw new ConfigurationError(`${where}.${field} is missing`);
  return String(value);
}

function textsOf(value: unknown, where: string): Record<string, string> {
  if (!isFields(value)) throw wrong(where, "a map of texts");
  return Object.fromEntries(Object.keys(value).map((key) => [key, textOf(value, key, where)]));
}

function secondsOf<F extends string>(fields: Fields, field: string, as: F, where: string): { [K in F]?: number } {
  const value = fields[field];
  if (value === undefined) return {};
  if (typeof value !== "number" || !(value >= 0)) throw wrong(`${where}.${field}`, "a number of seconds");
  return { [as]: value * 1000 } as { [K in F]?: number };
}
