/** Which rows there are, and what they are to show. */
import type { Task } from "./row.ts";
import type { SubjectName } from "./subjects.ts";

export interface Size {
  readonly nodes: number;
  /** Of the burst of Pods with two claims each. */
  readonly pods: number;
  readonly windowMs: number;
  readonly subjects: readonly SubjectName[];
  /** Of the burst of Pods without claims, of "no volumes", the null extender and Berth. */
  readonly free?: { readonly pods: number; readonly atLeast: number };
  /** Least values of Berth's rate over others', and by itself. */
  readonly least: {
    readonly timesInTree?: number;
    readonly podsPerSecond?: number;
    readonly ofNullExtender?: number;
  };
  /** Most of Berth's share of all CPU. */
  readonly shareAtMost?: number;
}

export interface Plan {
  readonly volumesPerNode: number;
  /** Ascending. */
  readonly sizes: readonly Size[];
}

const all: readonly SubjectName[] = ["in-tree", "in-tree at 100 %", "null extender", "Berth"];

/** The budgets are those of decision 33. */
export const wholePlan: Plan = {
  volumesPerNode: 10,
  sizes: [
    { nodes: 50, pods: 200, windowMs: 20_000, subjects: all, least: {} },
    { nodes: 100, pods: 400, windowMs: 30_000, subjects: all, least: { timesInTree: 10 } },
    { nodes: 500, pods: 500, windowMs: 75_000, subjects: all, least: { timesInTree: 200 } },
    {
      nodes: 2_000,
      pods: 500,
      windowMs: 90_000,
      subjects: ["null extender", "Berth"],
      free: { pods: 1_000, atLeast: 0.7 },
      least: { podsPerSecond: 10, ofNullExtender: 0.9 },
      shareAtMost: 5,
    },
  ],
};

/** Small enough for a test; the budgets say nothing there. */
export const smokePlan: Plan = {
  volumesPerNode: 4,
  sizes: [
    {
      nodes: 10,
      pods: 10,
      windowMs: 20_000,
      subjects: all,
      free: { pods: 10, atLeast: 0 },
      least: { timesInTree: 0, podsPerSecond: 0, ofNullExtender: 0 },
      shareAtMost: 100,
    },
  ],
};

export function tasksOf({ nodes, pods, windowMs, subjects, free }: Size): Task[] {
  const withClaims = subjects.map((subject) => ({ nodes, subject, pods, hasClaims: true, windowMs }));
  if (!free) return withClaims;
  const alone = (["no volumes", "null extender", "Berth"] as const).map((subject) => ({
    nodes,
    subject,
    pods: free.pods,
    hasClaims: false,
    windowMs,
  }));
  return [...withClaims, ...alone];
}

/** As `--rows` names it and the table shows it. */
export function nameOf({ nodes, subject, hasClaims }: Task): string {
  return `${nodes} nodes: ${subject}${hasClaims ? "" : " without claims"}`;
}
