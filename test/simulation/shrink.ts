/** Makes a failing plan smaller while it breaks the same sentence: less done, fewer kinds of faults, fewer things, fewer steps. */
import type { Plan } from "./plan.ts";
import { type Outcome, run } from "./run.ts";
import type { WorldOptions } from "./world.ts";

export interface Shrunk {
  readonly plan: Plan;
  readonly outcome: Outcome;
  readonly runs: number;
}

/** No more runs than this are spent on it. */
const runsMaxDefault = 400;

export async function shrink(failed: Outcome, options: WorldOptions = {}, runsMax = runsMaxDefault): Promise<Shrunk> {
  const { finding } = failed;
  if (!finding) throw new Error("nothing was found, so there is nothing to make smaller");
  let plan = failed.plan;
  let runs = 0;
  const attempt = async (smaller: Plan): Promise<boolean> => {
    if (runs >= runsMax) return false;
    runs++;
    const found = (await run(smaller, { ...options, trace: "nothing" })).finding;
    if (found?.invariant !== finding.invariant) return false;
    plan = smaller;
    return true;
  };
  for (let before: Plan | undefined; before !== plan; ) {
    before = plan;
    await cut(plan.actions, (actions) => attempt({ ...plan, actions }));
    await cut(plan.faults, (faults) => attempt({ ...plan, faults }));
    for (const smaller of simpler(plan)) await attempt(smaller);
  }
  return { plan, outcome: await run(plan, { ...options, trace: "lines" }), runs };
}

/** Takes out of a list whatever may go, large pieces first. */
async function cut<T>(list: readonly T[], attempt: (shorter: readonly T[]) => Promise<boolean>): Promise<void> {
  let best = list;
  for (let length = best.length; length >= 1; length >>= 1) {
    for (let at = best.length - length; at >= 0; at -= length) {
      const shorter = best.toSpliced(at, length);
      if (await attempt(shorter)) best = shorter;
    }
  }
}

function simpler(plan: Plan): Plan[] {
  const found: Plan[] = [];
  if (plan.berths === 2) found.push({ ...plan, berths: 1 });
  if (plan.nodes > 1) {
    const nodes = plan.nodes - 1;
    found.push({ ...plan, nodes, disks: plan.disks.slice(0, nodes), pools: plan.pools.slice(0, nodes) });
  }
  for (const [at, sizes] of plan.disks.entries()) {
    if (sizes.length > 0) found.push({ ...plan, disks: plan.disks.with(at, sizes.slice(1)) });
  }
  if (plan.createRarity < 1_000) found.push({ ...plan, createRarity: 1_000 });
  for (const share of [0.25, 0.5, 0.75, 0.9]) {
    const steps = Math.floor(plan.steps * share);
    if (steps > 0) found.push({ ...plan, steps });
  }
  for (const [at, { act }] of plan.actions.entries()) {
    if (act.do !== "create pod" || act.claims.length < 2) continue;
    for (const which of act.claims.keys()) {
      const smaller = { ...act, claims: act.claims.toSpliced(which, 1) };
      const action = plan.actions[at];
      if (action) found.push({ ...plan, actions: plan.actions.with(at, { ...action, act: smaller }) });
    }
  }
  return found;
}
