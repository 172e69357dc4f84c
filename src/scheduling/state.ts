/** CONTRACT (implementation follows): all that Berth believes of the cluster, in memory. Pure: fed by `cluster/`, read by decisions. */
import type { Kind, Kinds, ObjectKey } from "./objects.ts";
import type { Reservations } from "./reservations.ts";

export interface StateOptions {
  /** Milliseconds on a clock that never runs backwards; read for expiry only. */
  readonly clock: () => number;
}

export declare class ClusterState {
  constructor(options: StateOptions);
  /** Counts every change; the same number means the same state. */
  readonly generation: number;
  readonly reservations: Reservations;
  /** Adds or replaces. An object of the same name with another uid is a deletion and an addition in one step. */
  set<K extends Kind>(kind: K, key: ObjectKey, object: Kinds[K]): void;
  delete(kind: Kind, key: ObjectKey): void;
  /** Remembers that the object exists but cannot be read, and why; drops what was known of it. */
  setAside(kind: Kind, key: ObjectKey, problem: string): void;
  get<K extends Kind>(kind: K, key: ObjectKey): Kinds[K] | undefined;
  problem(kind: Kind, key: ObjectKey): string | undefined;
  /** Keys known or set aside. */
  keys(kind: Kind): IterableIterator<ObjectKey>;
  size(kind: Kind): number;
}
