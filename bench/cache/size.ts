/** How large a run is. */

export interface Size {
  readonly nodes: number;
  readonly disksPerNode: number;
  /** Disks of each node that nobody claims. */
  readonly freePerNode: number;
  /** Pending, of two claims each; what is left of the unbound claims waits for Pods that are not there. */
  readonly pods: number;
  readonly eventsPerSecond: number;
  readonly callsPerSecond: number;
  /** Of calls with no events, and again of calls among events. */
  readonly seconds: number;
}

/** As requirement 2 has it: as many claims as volumes. */
export const wholeSize: Size = {
  nodes: 15_000,
  disksPerNode: 10,
  freePerNode: 3,
  pods: 10_000,
  eventsPerSecond: 5_000,
  callsPerSecond: 10,
  seconds: 20,
};

export const smallSize: Size = {
  nodes: 300,
  disksPerNode: 10,
  freePerNode: 3,
  pods: 200,
  eventsPerSecond: 500,
  callsPerSecond: 50,
  seconds: 1,
};

export const claimsPerPod = 2;

export function boundOf({ nodes, disksPerNode, freePerNode }: Size): number {
  return nodes * (disksPerNode - freePerNode);
}

/** Unbound claims that no Pod mounts. */
export function sparesOf({ nodes, freePerNode, pods }: Size): number {
  return nodes * freePerNode - pods * claimsPerPod;
}
