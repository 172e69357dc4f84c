/** Runs that found something once, and what it was. All must hold now. Each bug has a test of its own kind beside the code. */
export interface Kept {
  readonly seed: number;
  readonly found: string;
}

export const keptSeeds: readonly Kept[] = [
  {
    seed: 5,
    found: "one silent watch made its kind count as stale, for the next is believed from its first bookmark on",
  },
  { seed: 12, found: "the same, of the Pods' watch" },
  { seed: 97, found: "the sandbox's provisioner forgot a claim whose class was missing for a moment" },
  { seed: 29, found: "a run that found its claim bound dropped the promise while the volume still looked free" },
  { seed: 9, found: "what went astray was promised no more before its claimRef was taken back" },
  { seed: 146, found: "the same" },
  { seed: 192, found: "the same" },
  { seed: 241, found: "a promise of a write in doubt let a plan take a volume that another claim had been bound to" },
  { seed: 159, found: "looking after an old bind made its Pod forget the promises of a newer one" },
  { seed: 1004, found: "a watch that caught up ended a promise by what was older than its write" },
  { seed: 1650, found: "a selected-node that the provisioner took back was written again after its answer was lost" },
  {
    seed: 64562043,
    found: "a watch that caught up showed an older claimRef of the claim, and then none: promise and bind ended",
  },
  {
    seed: 910288,
    found: "a claim was created anew while its volume was claimed: the promise ended at once, and the claimRef stayed",
  },
  {
    seed: 136,
    found: "a selected-node whose answer was lost was promised no more once its claim was being deleted",
  },
  {
    seed: 259,
    found: "a claimRef that came twice was taken off in between, and written again without a promise",
  },
  {
    seed: 85216898,
    found: "a bind that nobody waited for refused every other node, though all its claims were bound",
  },
  { seed: 85311820, found: "a Pod was woken while a filter call of it was being answered" },
  {
    seed: 85311495,
    found: "a claimRef that another bind needed was taken back, and its mark was taken for a user's reservation",
  },
  { seed: 86800256, found: "a Pod was never woken whose predecessor of that name the cache still showed" },
  { seed: 90124934, found: "a bind without claims that nobody waited for stood until its deadline" },
  {
    seed: 5000740,
    found: "a claimRef was taken back from a Pod that another scheduler had put where its volume is",
  },
];
