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
  165: "a claim that waits for its Pod is bound with it",
  166: "prebound volume, prebound claim",
  167: "two claims go where both volumes are; the spare stays",
  168: "two claims, one volume a node: nothing is bound",
  169: "delayed and immediate claims in one Pod",
  170: "a Pod waits for its class, volume or claim",
  171: "static and dynamic in one Pod",
  172: "prebound immediate and dynamic",
  173: "50 Pods of three claims",
  174: "anti-affinity: ten Pods, ten nodes",
  175: "a bound volume and a Pod forced elsewhere",
  176: "capacity on, off, absent",
  177: "provisioning fails: selected-node is removed",
  196: "a volume's event and a filter race: no wake-up is lost",
};

describe("VB §8, on a real cluster", () => {
  for (const [number, name] of Object.entries(names)) later(Number(number), "real cluster", name);
});
