/** kube-scheduler's own words. */
import type { Lab, Outcome } from "./lab.ts";
import { forVersion } from "./versions.ts";

export const noVolumes = "node(s) didn't find available persistent volumes to bind";
export const vain = "Preemption is not helpful for scheduling";
export const noVictims = "No preemption victims found for incoming pod";

/** A Pod that no node takes: what its condition and its event say. @param reasons  "" where there are none */
export function unschedulable(
  { facts }: Pick<Lab, "facts">,
  nodes: number,
  reasons: string,
  preemption: string,
): Outcome {
  const none = `0/${nodes} nodes are available`;
  // DynamicResources speaks first, where it has nothing to say, then DefaultPreemption.
  const others = forVersion(facts, { "1.34": "no new claims to deallocate, ", "1.37": "" });
  const message = `${none}:${reasons === "" ? "" : ` ${reasons}.`} ${others}preemption: ${none}: ${preemption}.`;
  return { reason: "Unschedulable", message };
}
