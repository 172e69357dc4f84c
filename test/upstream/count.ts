/** How many of VB §8's 200 scenarios a run has shown, in one line, and whether that is enough. */
import { type ScenarioKind, scenarioKinds, scenariosTotal } from "./kinds.ts";

export interface Shown {
  readonly number: number;
  readonly kind: ScenarioKind;
  readonly passed: boolean;
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
  const kindOf = new Map(tests.map(({ number, kind }) => [number, kind]));
  const failed = new Set(tests.filter(({ passed }) => !passed).map(({ number }) => number));
  const passed = [...kindOf].filter(([number]) => !failed.has(number));
  const perKind = scenarioKinds.map((kind) => {
    const of = (entries: readonly (readonly [number, ScenarioKind])[]) =>
      entries.filter(([, is]) => is === kind).length;
    return `${kind} ${of(passed)} of ${of([...kindOf])}`;
  });
  const waiting = scenariosTotal - [...kindOf.values()].filter((kind) => kind !== "real cluster").length;
  const ranReal = passed.some(([, kind]) => kind === "real cluster");
  const lack = ranReal || waiting === 0 ? "" : `: ${waiting} need the real control plane`;
  const line = `upstream scenarios: ${passed.length} of ${scenariosTotal}${lack} (${perKind.join(", ")})`;
  return { line, enough: !complete || passed.length === scenariosTotal };
}
