/** The core under test, asked through the lines of a case file, in the terms that the oracle answers in. */
import { filterNodes, planNode } from "../../src/scheduling/filter.ts";
import { claimUid, nodeName, splitKey } from "../../src/scheduling/names.ts";
import type { NodeVerdicts } from "../../src/scheduling/plan.ts";
import type { Pool } from "../../src/scheduling/pools.ts";
import { describePlan, World } from "../support/world.ts";
import type { Answer, NodeAnswer } from "./naive.ts";
import type { PoolChoices } from "./naive-cluster.ts";
import { type FilterLine, type Line, render } from "./script.ts";

export class Core implements PoolChoices {
  readonly world = new World();

  apply(line: Exclude<Line, FilterLine>): void {
    this.world.apply(render(line));
  }

  filter({ pod, claims }: Pick<FilterLine, "pod" | "claims">): Answer {
    const { world } = this;
    const verdict = filterNodes(world.state, world.pod(pod, ...claims), world.nodes());
    switch (verdict.kind) {
      case "free":
        return { pod: "every node fits: no claims", nodes: [] };
      case "fault":
        return { pod: `error  ${verdict.object.kind} ${verdict.object.key}: ${verdict.problem}`, nodes: [] };
      case "refused":
        return { pod: `refused  ${verdict.reason} ${verdict.claim}  (${verdict.text})`, nodes: [] };
      case "judged":
        return { nodes: verdict.nodes.names.map((_, index) => answerOf(verdict.nodes, index)) };
    }
  }

  poolOfDemand(claim: string): readonly string[] {
    return namesOf(this.world.state.pools.demandOf(claimUid(`u${claim}`))?.pool);
  }

  nodeOfDemand(claim: string): string | undefined {
    return this.world.state.pools.demandOf(claimUid(`u${claim}`))?.node;
  }

  poolsOfPlan(pod: string, claims: readonly string[], node: string): Map<string, readonly string[]> {
    const { state } = this.world;
    const verdict = planNode(state, this.world.pod(pod, ...claims), nodeName(node));
    const planned = verdict.kind === "judged" && verdict.nodes.fits ? verdict.nodes.plan.claims : [];
    const found = new Map<string, readonly string[]>();
    for (const one of planned) {
      const pool = one.kind === "provision" && one.pool !== undefined ? state.pools.get(one.pool) : undefined;
      found.set(splitKey(one.claim.key).name, namesOf(pool));
    }
    return found;
  }
}

function namesOf(pool: Pool | undefined): readonly string[] {
  const offers = [...(pool?.offers.values() ?? [])];
  return offers.flatMap(({ objects }) => Array.from(objects.values(), ({ key }) => splitKey(key).name));
}

/** The flat answer, and the full one in its words: `line` is made of the full one, all else of the flat one. */
function answerOf(nodes: NodeVerdicts, index: number): NodeAnswer {
  const full = nodes.verdict(index);
  const node = nodes.names[index] ?? "";
  const told = full.fits
    ? `${full.plan.contended ? "contended" : "fits"}  ${describePlan(full.plan).join(" ")}`
    : `refused  ${full.refusals.map(({ reason, claim }) => `${reason}${claim ? ` ${claim}` : ""}`).join(", ")}`;
  return {
    node,
    line: `${node}  ${told}`,
    fits: nodes.fits(index),
    contended: nodes.contended(index),
    provisions: nodes.provisions(index),
    surplus: nodes.surplus(index),
    reason: nodes.reason(index),
    text: nodes.text(index),
  };
}
