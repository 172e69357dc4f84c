/** The `leaderElection` section: its keys are kube-scheduler's own where it has them. */
import type { Milliseconds } from "../runtime/runtime.ts";
import type { Read, Section } from "./document.ts";
import { duration, oneOf, text } from "./values.ts";

/** What is done only by the one that holds the Lease. */
export type ElectionMode =
  /** Answers for Pods with claims, and all background work: several Berths behind one address. */
  | "answers"
  /** Background work: whoever is asked answers, as in pairs of kube-scheduler and Berth. */
  | "background"
  /** No Lease: this Berth answers, and does no background work. */
  | "off";

export interface LeaderElection {
  readonly mode: ElectionMode;
  readonly resourceNamespace: string;
  readonly resourceName: string;
  /** A Lease that was not renewed for so long may be taken. Whole seconds. */
  readonly leaseMs: Milliseconds;
  /** A leader that could not renew for so long leads no more. */
  readonly renewMs: Milliseconds;
  /** From one renewal, or one look, to the next. */
  readonly retryMs: Milliseconds;
}

/** Another one answers within 15 s (decision 22). */
export const defaultElection: LeaderElection = {
  mode: "background",
  resourceNamespace: "kube-system",
  resourceName: "berth",
  leaseMs: 8_000,
  renewMs: 5_000,
  retryMs: 1_000,
};

export const electionKeys: Section = {
  mode: { member: "mode", form: oneOf("answers", "background", "off") },
  resourceNamespace: { member: "resourceNamespace", form: text },
  resourceName: { member: "resourceName", form: text },
  leaseDuration: { member: "leaseMs", form: duration },
  renewDeadline: { member: "renewMs", form: duration },
  retryPeriod: { member: "retryMs", form: duration },
};

const marginMinMs: Milliseconds = 1_000;
/** As long as `election/lease.ts` believes a holder: followers wait for their own time instead of a longer one. */
const leaseMaxMs: Milliseconds = 3_600_000;
/** Less, and one slow answer of the API ends every lead. */
const renewMinMs: Milliseconds = 1_000;

/** The three times only make sense together, and those left out have their defaults. */
export function electionProblem(read: Read): { key: string; problem: string } | undefined {
  const { leaseMs, renewMs, retryMs } = { ...defaultElection, ...read };
  if (leaseMs % 1000 !== 0) return { key: "leaseDuration", problem: "is not a whole number of seconds" };
  if (leaseMs > leaseMaxMs) return { key: "leaseDuration", problem: "is longer than 1h: others would not wait for it" };
  if (renewMs < renewMinMs) return { key: "renewDeadline", problem: "is less than 1s" };
  if (renewMs + marginMinMs > leaseMs) {
    const key = "leaseMs" in read ? "leaseDuration" : "renewDeadline";
    return { key, problem: "leaves no time between renewDeadline and leaseDuration: a second at least must lie there" };
  }
  if (retryMs * 2 <= renewMs) return undefined;
  const key = "retryMs" in read ? "retryPeriod" : "renewDeadline";
  return { key, problem: "leaves no time to try again: retryPeriod may be half of renewDeadline at most" };
}
