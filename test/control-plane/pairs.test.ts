/**
 * A Berth beside each of two kube-schedulers, which choose between themselves who leads (docs/high-availability.md): the pair that
 * leads is lost, or its Berth alone, and Pods are placed all the same.
 */
import { expect } from "vitest";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import { audit } from "../support/auditor.ts";
import { burstOf, waitingPods } from "./burst.ts";
import { berthEntries, type KubeScheduler } from "./kube-scheduler.ts";
import { inLab, type Lab } from "./lab.ts";
import { onPlane } from "./on-plane.ts";
import { until } from "./reach.ts";
import { makeReplica, type Replica } from "./replica.ts";

const nodes = ["n1", "n2"];
const leaderElection = {
  leaderElect: true,
  resourceName: "pairs-scheduler",
  leaseDuration: "4s",
  renewDeadline: "3s",
  retryPeriod: "500ms",
};

interface Pair {
  readonly berth: Replica;
  scheduler: KubeScheduler;
}

onPlane(
  "of two pairs of kube-scheduler and Berth the leading one is lost, and its Berth alone: Pods are placed all the same",
  { timeout: 240_000 },
  (plane) =>
    inLab(plane, "pairs", async (lab) => {
      const pairs = [await start(lab, "a"), await start(lab, "b")];
      await lab.given({ nodes: Object.fromEntries(nodes.map((node) => [node, null])) });
      const before = await leading(lab, pairs, 1);

      await inTheMiddle(lab, "pair-lost", async () => {
        await before.scheduler.stop();
        await before.berth.end();
      });
      const after = await leading(lab, pairs, 2);
      expect(after).not.toBe(before);
      before.berth.start();
      before.scheduler = await startScheduler(lab, before.berth);

      // Nobody is asked meanwhile: the Pods come when it is gone.
      await after.berth.end();
      await arriveAndGetPlaced(lab, "berth-lost", async () => {
        await runtime.sleep(2_000);
        const all = async () => (await waitingPods(lab.stage, "berth-lost")).length === 12;
        await until("all Pods wait", all, 5_000);
        after.berth.start();
      });

      await inTheMiddle(lab, "berth-lost-at-work", async () => {
        await after.berth.end();
        await runtime.sleep(1_000);
        after.berth.start();
      });
      // kube-scheduler leads on, whatever becomes of its Berth.
      expect(await leading(lab, pairs, 2)).toBe(after);
    }),
);

async function start(lab: Lab, name: string): Promise<Pair> {
  const config = { leaderElection: { mode: "background", resourceName: "pairs-berth" } };
  const berth = await makeReplica(lab, { name: `pair-${name}`, config });
  berth.start();
  return { berth, scheduler: await startScheduler(lab, berth) };
}

/** Resolves when the Berth is ready, and kube-scheduler's caches are full. */
async function startScheduler(lab: Lab, berth: Replica): Promise<KubeScheduler> {
  await until(`${berth.name} is ready`, async () => (await berth.readiness()) === "ok\n");
  const { asks, binds } = berthEntries(`http://127.0.0.1:${berth.port}/v1`);
  return lab.scheduler([asks, binds], { instance: berth.name, leaderElection });
}

/** Resolves to the one whose kube-scheduler took the Lease last, once it has been taken so often. */
async function leading(lab: Lab, pairs: readonly Pair[], times: number): Promise<Pair> {
  const taken = /^.(\d+ [\d:.]+) .*[Ss]uccessfully acquired lease/gm;
  const acquisitions = () =>
    pairs.flatMap((pair) => [...lab.log(pair.berth.name).matchAll(taken)].map(([, at = ""]) => ({ at, pair })));
  await until(`the Lease was taken ${times} times`, async () => acquisitions().length === times);
  const [last] = acquisitions().toSorted((one, other) => (one.at < other.at ? 1 : -1));
  if (!last) throw new Error("unreachable");
  return last.pair;
}

async function inTheMiddle(lab: Lab, name: string, act: () => Promise<void>): Promise<void> {
  await arriveAndGetPlaced(lab, name, async () => {
    await until("some of the Pods are there", async () => (await waitingPods(lab.stage, name)).length > 0);
    await act();
  });
}

async function arriveAndGetPlaced(lab: Lab, name: string, meanwhile: () => Promise<void>): Promise<void> {
  const burst = burstOf(name, nodes, 12);
  await lab.given(burst.storage);
  const arriving = lab.given(burst.pods);
  await meanwhile();
  await arriving;
  await until(`all Pods of ${name} are placed`, async () => (await waitingPods(lab.stage, name)).length === 0);
  expect(await audit(lab.stage), name).toEqual([]);
}
