/** Many runs, one seed after the other, and what they had in common. */
import { share } from "./crew.ts";
import type { Finding } from "./judge.ts";
import { stepsDefault } from "./plan.ts";
import { Stats } from "./stats.ts";

export interface SurveyOptions {
  readonly seed: number;
  readonly runs: number;
  readonly steps?: number;
  readonly workers: number;
  readonly say: (line: string) => void;
}

export interface Found {
  readonly seed: number;
  readonly finding: Finding;
}

/** Tells each finding at once, in the order of the seeds. */
export async function survey({ seed, runs, steps = stepsDefault, workers, say }: SurveyOptions): Promise<Found[]> {
  const total = new Stats();
  const found: Found[] = [];
  const begun = performance.now();
  const seconds = (): number => (performance.now() - begun) / 1000;
  say(`seeds ${seed} to ${seed + runs - 1}`);
  const jobs = Array.from({ length: runs }, (_, nth) => ({ seed: seed + nth, runs: 1, steps }));
  for await (const { seed: at, finding, stats } of share(jobs, workers)) {
    total.add(stats);
    if (finding) {
      found.push({ seed: at, finding });
      say(`seed ${at}: ${finding.invariant}: ${finding.text}`);
    }
    if (total.runs % 1_000 === 0) say(`${total.runs} runs, ${seconds().toFixed(0)} s, ${found.length} found`);
  }
  report(total, { seconds: seconds(), say });
  say(`${found.length} of ${runs} runs found something`);
  return found;
}

function report(total: Stats, { seconds, say }: { seconds: number; say: (line: string) => void }): void {
  const rate = (count: number): string => (count / seconds).toFixed(count / seconds < 100 ? 1 : 0);
  say(`${total.runs} runs in ${seconds.toFixed(1)} s: ${rate(total.runs)} runs/s, ${rate(total.steps)} steps/s`);
  const { steps, virtualMs, bound, podsPlaced, podsWaiting, crashes, createFaults } = total;
  say(`${steps} steps, ${(virtualMs / 3_600_000).toFixed(1)} hours of virtual time`);
  say(`who could be placed was within ${total.waitMaxMs / 1000} s after the storm`);
  say(
    `${bound} binds, ${podsPlaced} Pods placed at the end and ${podsWaiting} waiting, ${crashes} restarts of Berth, ${createFaults} failed creations of volumes`,
  );
  for (const [title, counts] of [
    ["writes of Berth", total.writes],
    ["faults", total.faults],
    ["deeds", total.actions],
  ] as const) {
    const all = [...counts].sort(([, a], [, b]) => b - a).map(([name, count]) => `${name} ${count}`);
    say(`${title}: ${all.join(", ")}`);
  }
}
