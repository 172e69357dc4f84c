/** How many of VB §8's 200 scenarios a run has shown, in one line, and whether that is enough. */
import { realCluster, type ScenarioKind, scenarioKinds, scenariosTotal } from "./kinds.ts";

export interface Shown {
  readonly number: number;
  readonly kind: ScenarioKind;
  readonly became: "passed" | "failed" | "skipped" | "pending";
}

/**
 * @param complete  all of them were in the run, or had to be
 * @returns  nothing where the run was not about them
 */
export function countScenarios(
  tests: readonly Shown[],
  { complete }: { complete: boolean },
): { readonly line: string; readonly enough: boolean } | undefined {
  if (tests.length === 0) return undefined;
  const passed = new Set(tests.filter(({ became }) => became === "passed").map(({ number }) => number));
  const perKind = scenarioKinds.flatMap((kind) => {
    const ofKind = new Set(tests.filter((one) => one.kind === kind).map(({ number }) => number));
    return ofKind.size === 0 ? [] : [`${kind} ${ofKind.intersection(passed).size} of ${ofKind.size}`];
  });
  const ranReal = tests.some(({ kind, became }) => kind === "real cluster" && became !== "skipped");
  const lack = ranReal ? "" : `: ${Object.keys(realCluster).length} need the real control plane`;
  const line = `upstream scenarios: ${passed.size} of ${scenariosTotal}${lack} (${perKind.join(", ")})`;
  return { line, enough: !complete || passed.size === scenariosTotal };
}
