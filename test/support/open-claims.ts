import { sortClaims } from "../../src/scheduling/claims.ts";
import { type Open, openClaim } from "../../src/scheduling/open-claim.ts";
import type { World } from "./world.ts";

/** The claims of a Pod that mounts these and wait for it, in name order: as a decision has them before it looks at any node. */
export function openClaims(world: World, ...names: readonly string[]): readonly Open[] {
  const sorted = sortClaims(world.state, world.pod("p", ...names));
  if (sorted.kind !== "sorted") throw new Error(`the Pod is ${sorted.kind}`);
  return sorted.delayed.map((claim) => openClaim(world.state, claim, []));
}
