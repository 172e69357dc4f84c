/** Many clusters from consecutive seeds: whether core and oracle agree, and what was drawn. */
import { type Run, run } from "./compare.ts";
import { featuresOf } from "./features.ts";
import { generate } from "./generate.ts";
import type { Script } from "./script.ts";

export interface Survey {
  readonly clusters: number;
  readonly differing: readonly { readonly seed: number; readonly script: Script }[];
  readonly abandoned: number;
  /** Clusters that have each feature, in name order. */
  readonly counts: ReadonlyMap<string, number>;
}

export interface SurveyOptions {
  readonly seed: number;
  readonly runs: number;
  /** Stop at so many differences. */
  readonly differencesMax?: number;
  readonly ask?: (script: Script) => Run;
  readonly progress?: (done: number) => void;
}

export function survey({ seed, runs, differencesMax = 1, ask = run, progress }: SurveyOptions): Survey {
  const counts = new Map<string, number>();
  const differing: { seed: number; script: Script }[] = [];
  let abandoned = 0;
  let clusters = 0;
  while (clusters < runs && differing.length < differencesMax) {
    const script = generate(seed + clusters);
    const { answers, notes, difference, abandoned: isAbandoned } = ask(script);
    clusters++;
    if (isAbandoned) abandoned++;
    if (difference) differing.push({ seed: seed + clusters - 1, script });
    const drawn = featuresOf(script, answers).union(notes);
    for (const name of drawn) if (name !== "") counts.set(name, (counts.get(name) ?? 0) + 1);
    progress?.(clusters);
  }
  const sorted = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  return { clusters, differing, abandoned, counts: new Map(sorted) };
}
