/** kwok in the place of kubelets: another's idea of what nodes and Pods go through. */
import { expect } from "vitest";
import { audit } from "../support/auditor.ts";
import { inLab } from "./lab.ts";
import { neighboursForTests } from "./neighbours.ts";
import { onPlane } from "./on-plane.ts";
import { until } from "./reach.ts";
import { realStage } from "./real-stage.ts";

const found = neighboursForTests();

const lacks = (): string | undefined => {
  const neighbours = found();
  return typeof neighbours === "string" ? neighbours : undefined;
};

onPlane("Pods run on kwok's nodes, and a disk that one leaves is the next one's", { lacks }, async (plane) => {
  const neighbours = found();
  if (typeof neighbours === "string") throw new Error(neighbours);
  const stage = realStage(plane, false);
  await inLab(
    plane,
    "kwok",
    async (lab) => {
      lab.processes.start("kwok", [
        neighbours.kwok,
        `--kubeconfig=${plane.facts.kubeconfig}`,
        "--config=test/control-plane/kwok-stages.yaml",
        "--manage-all-nodes=true",
        "--server-address=",
        "--node-lease-duration-seconds=0",
      ]);
      const claim = { class: "local", size: "10Gi" };
      const { asks, binds } = lab.berth;
      await lab.scheduler([asks, binds]);
      await lab.given({
        nodes: { n1: null, n2: null },
        classes: { local: "wait" },
        disks: { "n2-disk": { node: "n2", class: "local", capacity: "10Gi" } },
        claims: { "shop/old": claim, "shop/new": claim },
        pods: { "shop/first": { claims: ["old"] } },
      });
      const phaseOf = async (name: string): Promise<string | undefined> => {
        const pods = (await stage.list("Pod")) as { metadata: { name: string }; status?: { phase?: string } }[];
        return pods.find(({ metadata }) => metadata.name === name)?.status?.phase;
      };
      expect(await lab.placed("shop/first")).toBe("n2");
      await until("the first Pod runs", async () => (await phaseOf("first")) === "Running");

      await lab.given({ pods: { "shop/second": { claims: ["new"] } } });
      expect(await lab.outcome("shop/second")).toMatchObject({ reason: "Unschedulable" });
      await stage.delete("Pod", "shop", "first");
      await stage.delete("PersistentVolumeClaim", "shop", "old");
      expect(await lab.placed("shop/second", 30_000)).toBe("n2");
      await until("the second Pod runs", async () => (await phaseOf("second")) === "Running");
      expect(await lab.claims()).toEqual({ "shop/new": "n2-disk" });
      expect(await audit(stage)).toEqual([]);
    },
    stage,
  );
});
