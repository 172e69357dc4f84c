/** One fault, as often as it is to be, and what came of it. */
import { nodeRuntime as runtime } from "../../../src/runtime/node-runtime.ts";
import type { WaitingPod } from "../burst.ts";
import type { Fault } from "./faults.ts";
import type { Field, FieldBurst } from "./field.ts";

export interface Row {
  readonly fault: string;
  readonly times: number;
  /** Volumes that were given to Pods on no node just before it, all times together. */
  readonly halfDone: number;
  readonly pods: number;
  readonly placed: number;
  /** Of each burst: from its first Pod until all are on nodes. */
  readonly seconds: readonly number[];
  /** Of the auditor, and of Pods that were not placed; the run ends at the first burst that has some. */
  readonly findings: readonly string[];
}

type Outcome = Omit<Row, "fault" | "seconds"> & { readonly seconds: number };

/** After the last time, and longer than kube-scheduler keeps a Pod aside that nobody wakes. */
const placedWithinMs = 400_000;
/** Of a fault's number of bursts: how many times as many there may be before there is work enough for it. */
const burstsMax = 6;

/** @throws Error when the bursts end before it could be done so often */
export async function runFault(field: Field, fault: Fault): Promise<Row> {
  const share = Math.ceil(fault.times / fault.bursts);
  const outcomes: Outcome[] = [];
  const sum = (of: (outcome: Outcome) => number): number => outcomes.reduce((total, one) => total + of(one), 0);
  const isEnough = (): boolean => {
    if (outcomes.length < fault.bursts || sum(({ times }) => times) < fault.times) return false;
    // Else it only ever came when nothing was going on.
    return fault.bursts === 1 || sum(({ halfDone }) => halfDone) > 0;
  };
  while (!isEnough()) {
    if (outcomes.length === fault.bursts * burstsMax) throw new Error(`${fault.name}: the bursts end too soon for it`);
    const left = Math.max(1, fault.times - sum(({ times }) => times));
    const outcome = await runBurst(field, fault, Math.min(share, left));
    outcomes.push(outcome);
    if (outcome.findings.length > 0) break;
  }
  return {
    fault: fault.name,
    times: sum(({ times }) => times),
    halfDone: sum(({ halfDone }) => halfDone),
    pods: sum(({ pods }) => pods),
    placed: sum(({ placed }) => placed),
    seconds: outcomes.map(({ seconds }) => seconds),
    findings: outcomes.flatMap(({ findings }) => findings),
  };
}

async function runBurst(field: Field, fault: Fault, timesMax: number): Promise<Outcome> {
  const burst = await field.nextBurst();
  const begun = runtime.now();
  const elapsed = (): number => (runtime.now() - begun) / 1000;
  let isArriving = true;
  const arriving = burst.arrive().finally(() => {
    isArriving = false;
  });
  // Whoever awaits it below hears of a failure.
  arriving.catch(() => {});
  let times = 0;
  let halfDone = 0;
  while (times < timesMax) {
    await runtime.sleep(field.between(...fault.after));
    if (!isArriving && (await burst.waiting()).length === 0) break;
    const inTheMiddle = await burst.halfDone();
    const at = elapsed();
    await fault.strike(field);
    const took = elapsed() - at;
    field.note(`${fault.name}: at ${at.toFixed(2)} s, for ${took.toFixed(2)} s, ${inTheMiddle} volumes half-way`);
    halfDone += inTheMiddle;
    times++;
  }
  await arriving;
  const left = await untilPlaced(burst, field.size.pods);
  const seconds = elapsed();
  const late = left.map(({ name, message }) => `pod ${name} is on no node: ${message}`);
  const findings = [...late, ...(await field.audit())];
  return { times, halfDone, pods: field.size.pods, placed: field.size.pods - left.length, seconds, findings };
}

/** Resolves to those that were not placed in time. */
async function untilPlaced(burst: FieldBurst, pods: number): Promise<WaitingPod[]> {
  const deadline = runtime.now() + placedWithinMs;
  for (;;) {
    const left = await burst.waiting();
    if (left.length === 0 || runtime.now() > deadline) return left;
    // To list a thousand Pods is work for the machine that places them.
    await runtime.sleep(100 + pods);
  }
}

export const heading = "fault | times | volumes half-way then | Pods placed | seconds until all placed | findings";

export function lineOf({ fault, times, halfDone, pods, placed, seconds, findings }: Row): string {
  const durations = seconds.map((one) => one.toFixed(1)).join(", ");
  const found = findings.length === 0 ? "none" : `${findings.length}: ${findings.slice(0, 3).join("; ")}`;
  return [fault, times, halfDone, `${placed} of ${pods}`, durations, found].join(" | ");
}
