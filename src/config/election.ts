/** The `leaderElection` section: its keys are kube-scheduler's own where it has them. */
import type { Milliseconds } from "../runtime/runtime.ts";
import type { Nested, Read, Rule } from "./sections.ts";
import { duration, namespaceName, objectName, oneOf } from "./values.ts";

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

const marginMinMs: Milliseconds = 1_000;
/** As long as `election/lease.ts` believes a holder: followers wait for their own time instead of a longer one. */
const leaseMaxMs: Milliseconds = 3_600_000;
/** Less, and one slow answer of the API ends every lead. */
const renewMinMs: Milliseconds = 1_000;

/** The three times only make sense together, and those left out have their defaults. */
const rules: readonly Rule<Read>[] = [
  {
    says: "`leaseDuration` is a whole number of seconds",
    wrongs: (read) =>
      timesOf(read).leaseMs % 1000 === 0
        ? []
        : [{ at: ["leaseDuration"], problem: "is not a whole number of seconds" }],
  },
  {
    says: "`leaseDuration` is longer than `renewDeadline` by a second at least",
    wrongs: (read) => {
      const { leaseMs, renewMs } = timesOf(read);
      if (renewMs + marginMinMs <= leaseMs) return [];
      const problem = "leaves no time between renewDeadline and leaseDuration: a second at least must lie there";
      return [{ at: ["leaseMs" in read ? "leaseDuration" : "renewDeadline"], problem }];
    },
  },
  {
    says: "`retryPeriod` is half of `renewDeadline` at most",
    wrongs: (read) => {
      const { renewMs, retryMs } = timesOf(read);
      if (retryMs * 2 <= renewMs) return [];
      const problem = "leaves no time to try again: retryPeriod may be half of renewDeadline at most";
      return [{ at: ["retryMs" in read ? "retryPeriod" : "renewDeadline"], problem }];
    },
  },
];

function timesOf(read: Read): LeaderElection {
  return { ...defaultElection, ...read };
}

export const electionSection: Nested = {
  says: "The Lease that says which of several Berths leads (docs/high-availability.md).",
  section: {
    mode: {
      member: "mode",
      form: oneOf("answers", "background", "off"),
      says: "What only the leader does. `background`: wakes refused Pods, while whoever is asked answers, as in pairs of kube-scheduler and Berth. `answers`: answers for Pods with claims too, for several Berths behind one address. `off`: there is no Lease, and no background work.",
    },
    resourceNamespace: { member: "resourceNamespace", form: namespaceName, says: "Where the Lease is." },
    resourceName: { member: "resourceName", form: objectName, says: "Its name." },
    leaseDuration: {
      member: "leaseMs",
      form: duration(marginMinMs + renewMinMs, leaseMaxMs),
      says: "A Lease that was not renewed for so long may be taken by another.",
    },
    renewDeadline: {
      member: "renewMs",
      form: duration(renewMinMs, leaseMaxMs),
      says: "A leader that could not renew for so long leads no more.",
    },
    retryPeriod: {
      member: "retryMs",
      form: duration(10, leaseMaxMs),
      says: "From one renewal, or one look, to the next.",
    },
  },
  rules,
};
