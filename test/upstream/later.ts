/** Scenarios about kube-scheduler's own side: they prove nothing against a loop of ours and wait for a real control plane. */
import { describe } from "vitest";
import { later } from "./support.ts";

const names: Record<number, string> = {
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
};

describe("VB §8, on a real cluster", () => {
  for (const [number, name] of Object.entries(names)) later(Number(number), "real cluster", name);
});
