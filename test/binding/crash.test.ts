/**
 * Berth dies after each of its writes, with and without the answer read, and starts anew over the same API: the pods are placed
 * all the same, and an auditor that reads only the API finds nothing (design.md §7, restart; FR-055).
 */
import { describe, expect, test } from "vitest";
import { audit } from "../support/auditor.ts";
import { type Bind, type Body, World } from "./world.ts";

/** Two pods, each with two static claims and one to provision, on one node with just enough for both. */
async function makeWorld(): Promise<{ world: World; pods: Body[] }> {
  const world = new World();
  await world.nodes("n1", "n2");
  const pods: Body[] = [];
  for (const name of ["p", "q"]) {
    for (const part of ["1", "2"]) {
      await world.pv(`${name}${part}`, { on: "n1" });
      await world.pvc(`${name}${part}`);
    }
    await world.pvc(`${name}3`, { class: "csi" });
    pods.push(await world.pod(name, [`${name}1`, `${name}2`, `${name}3`]));
  }
  await world.start();
  return { world, pods };
}

/** Asks again for every pod that got an Error, as kube-scheduler does, while the controllers work. */
async function placeAll(world: World, pods: readonly Body[]): Promise<Bind[]> {
  let binds = pods.map((pod) => world.bind(pod, "n1"));
  for (let round = 0; round < 6; round++) {
    await world.provision();
    await world.runtime.advance(1_000);
    binds = binds.map((bind, index) =>
      bind.answer === undefined || bind.answer === "ok" ? bind : world.bind(pods[index], "n1"),
    );
  }
  return binds;
}

const writesOfOneRun = 8;

describe.for([
  ["its answer is never read", "after"],
  ["it never reaches the API", "before"],
] as const)("Berth dies at a write, and %s", ([, when]) => {
  test.for(Array.from({ length: writesOfOneRun }, (_, index) => [index + 1]))("at write %i", async ([at = 0]) => {
    const { world, pods } = await makeWorld();
    let writes = 0;
    let isDead = false;
    world.fault = (request, pass) => {
      if (request.method === "GET" || request.path.includes("/events") || isDead || ++writes < at) return undefined;
      isDead = true;
      const { kill } = world.berth;
      if (when === "before") {
        kill();
        return new Promise(() => {});
      }
      return pass().then((answer) => {
        kill();
        return answer;
      });
    };
    const first = pods.map((pod) => world.bind(pod, "n1"));
    for (let round = 0; round < 4 && !isDead; round++) await world.provision();
    await world.runtime.settle();
    expect(isDead).toBe(true);
    expect(await audit(world)).toEqual([]);

    const berth = await world.start();
    const again = await placeAll(world, pods);
    for (const [index, bind] of again.entries()) expect(first[index]?.answer ?? bind.answer).toBe("ok");
    for (const name of ["p", "q"]) expect((await world.get("pod", `d/${name}`)).spec.nodeName).toBe("n1");
    expect(await audit(world)).toEqual([]);
    expect(berth.cluster.state.reservations.assumptionCount).toBe(0);
    expect(berth.binder.inProgress()).toEqual([]);
  });
});

test("a restart knows what was promised: nobody gets what the claimRef and selected-node already say (FR-055)", async () => {
  const { world, pods } = await makeWorld();
  world.bind(pods[0], "n1");
  await world.runtime.settle();
  world.berth.kill();
  const { cluster, binder } = await world.start();
  expect(cluster.state.reservations.assumptionCount).toBe(0);
  for (const name of ["r1", "r2", "r3"]) await world.pvc(name);
  const other = await world.pod("r", ["r1", "r2", "r3"]);
  const greedy = world.bind(other, "n1");
  await world.runtime.settle();
  expect(greedy.answer).toMatch(/cannot hold the volumes/);
  const finish = world.bind(pods[0], "n1");
  await world.provision();
  expect(finish.answer).toBe("ok");
  expect(binder.inProgress()).toEqual([]);
});
