/** The 200 scenarios of VB §8: how many, where each proves something, and which need a real kube-scheduler. */

export const scenarioKinds = ["core", "binder", "wait", "departure", "real cluster"] as const;

/**
 * Where a scenario proves something: in the core; through the binder; in its wait; in any of these, where Berth differs on
 * purpose and the test shows both answers (decision 31); or against a real kube-scheduler only.
 */
export type ScenarioKind = (typeof scenarioKinds)[number];

export const scenariosTotal = 200;

/** About kube-scheduler's own side: against a loop of ours they prove nothing. They run in test/control-plane. */
export const realCluster = {
  150: "a filter error fails the cycle",
  151: "all nodes refused: unschedulable",
  152: "two extenders that accept different nodes: unschedulable",
  153: "the second extender sees what the first accepts",
  154: "a prioritize error with one node: scheduled",
  155: "weights of two extenders",
  156: "a plugin's weight against an extender's",
  157: "an extender that is not interested is not called",
  158: "an ignorable extender that fails is skipped",
  159: "which Pods a managed resource covers",
  160: "statuses of refused nodes",
  162: "who binds: the extender where it is interested",
  164: "both rejectors are recorded",
  196: "a volume's event and a filter race: no wake-up is lost",
} as const;
