/**
 * Berth and kube-apiserver killed at random moments while Pods arrive in a burst, on a control plane of this file's own. Every Pod
 * must get its node and its volumes in the end, and the auditor must find nothing half-done.
 */
import { randomInt } from "node:crypto";
import { expect } from "vitest";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import { audit } from "../support/auditor.ts";
import { type Given, objectsOf } from "../support/given.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { onPlane } from "./on-plane.ts";
import { reach, until } from "./reach.ts";
import { type RealStage, realStage } from "./real-stage.ts";

const nodes = ["n1", "n2", "n3"];
const podsMax = 24;

/** Pods of two claims each, with just as many disks as they need. */
function burst(round: number): Given {
  const pods = Array.from({ length: podsMax }, (_, index) => `p${round}-${index}`);
  const claims = pods.flatMap((pod) => [`${pod}-a`, `${pod}-b`]);
  const disk = (index: number) => ({ on: nodes[index % nodes.length], class: "local", size: "10Gi" });
  return {
    nodes: Object.fromEntries(nodes.map((name) => [name, null])),
    classes: { local: "wait" },
    volumes: Object.fromEntries(claims.map((_, index) => [`d${round}-${index}`, disk(index)])),
    claims: Object.fromEntries(claims.map((name) => [`shop/${name}`, { class: "local", size: "10Gi" }])),
    pods: Object.fromEntries(pods.map((pod) => [`shop/${pod}`, { claims: [`${pod}-a`, `${pod}-b`] }])),
  };
}

interface Chaos {
  readonly plane: ControlPlane;
  readonly stage: RealStage;
}

async function inChaos(plane: ControlPlane, run: (chaos: Chaos) => Promise<void>): Promise<void> {
  const transport = reach(plane.facts.server);
  const signal = async (name: string, signal: NodeJS.Signals) => plane.processes.signal(name, signal);
  const stage = realStage({ exchange: transport.exchange, signal });
  let failed = true;
  try {
    await run({ plane, stage });
    failed = false;
  } catch (error) {
    throw new Error(`${(error as Error).message}; logs in ${plane.facts.folder}`);
  } finally {
    stage.stop();
    await plane.stop({ keep: failed });
    transport.close();
  }
}

async function unplaced(stage: RealStage): Promise<string[]> {
  const pods = (await stage.list("Pod")) as { metadata: { name: string }; spec: { nodeName?: string } }[];
  return pods.flatMap(({ metadata, spec }) => (spec.nodeName === undefined ? [metadata.name] : []));
}

/** Volumes that are given to a claim whose Pod is on no node: what Berth was in the middle of. */
async function halfDone(stage: RealStage): Promise<number> {
  const waiting = new Set(await unplaced(stage));
  const volumes = (await stage.list("PersistentVolume")) as { spec: { claimRef?: { name: string } } }[];
  return volumes.filter(({ spec }) => waiting.has(spec.claimRef?.name.replace(/-[ab]$/, "") ?? "")).length;
}

async function arrive(stage: RealStage, given: Given): Promise<void> {
  for (const object of objectsOf(given)) await stage.apply(object);
}

/** Kills while there is work, so that each hits some; then waits until all is done. */
async function disturb({ stage }: Chaos, kills: number, kill: () => Promise<void>): Promise<number> {
  let done = 0;
  while (done < kills && (await unplaced(stage)).length > 0) {
    await runtime.sleep(randomInt(20, 700));
    await kill();
    done++;
  }
  await until("every Pod is on a node", async () => (await unplaced(stage)).length === 0, 120_000);
  return done;
}

onPlane(
  "Berth killed twenty times in bursts of Pods leaves nothing half-done",
  { timeout: 600_000 },
  async ({ facts }) => {
    const plane = await startControlPlane(facts);
    await inChaos(plane, async (chaos) => {
      let kills = 0;
      let interrupted = 0;
      for (let round = 0; round < 3 || kills < 20; round++) {
        const arriving = arrive(chaos.stage, burst(round));
        await until("the first Pods are there", async () => (await chaos.stage.list("Pod")).length > 0);
        kills += await disturb(chaos, 7, async () => {
          await plane.processes.end("berth");
          interrupted += await halfDone(chaos.stage);
          await plane.startBerth();
        });
        await arriving;
        await disturb(chaos, 0, async () => {});
        expect(await audit(chaos.stage)).toEqual([]);
        await chaos.stage.clear();
      }
      expect(kills).toBeGreaterThanOrEqual(20);
      // Otherwise the kills came when nothing was going on.
      expect(interrupted).toBeGreaterThan(0);
    });
  },
);

onPlane(
  "kube-apiserver killed in a burst of Pods: Berth finds its way back",
  { timeout: 300_000 },
  async ({ facts }) => {
    const plane = await startControlPlane(facts);
    await inChaos(plane, async (chaos) => {
      await arrive(chaos.stage, burst(0));
      const kills = await disturb(chaos, 2, async () => {
        await plane.processes.end("kube-apiserver");
        await runtime.sleep(randomInt(0, 2_000));
        await plane.startApiServer();
      });
      expect(kills).toBeGreaterThan(0);
      expect(await audit(chaos.stage)).toEqual([]);
    });
  },
);
