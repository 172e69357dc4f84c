/** What an earlier try of ours wrote is ours to take back whole; only what a user reserved keeps its form. */
import { expect, test } from "vitest";
import { World } from "./world.ts";

const mark = "pv.kubernetes.io/bound-by-controller";

async function withPod(): Promise<{ world: World; pod: Awaited<ReturnType<World["pod"]>> }> {
  const world = new World();
  await world.nodes("n1", "n2");
  await world.pv("a", { on: "n1" });
  await world.pv("b", { on: "n2" });
  await world.pvc("x");
  return { world, pod: await world.pod("p", ["x"]) };
}

async function expectFree(world: World): Promise<void> {
  const { metadata, spec } = await world.get("volume", "a");
  expect(spec.claimRef).toBeUndefined();
  expect(metadata.annotations?.[mark]).toBeUndefined();
}

test("decision 19: a claimRef that a Berth before a restart wrote is taken back whole when the Pod goes", async () => {
  const { world, pod } = await withPod();
  await world.start();
  world.bind(pod, "n1");
  await world.runtime.settle();
  expect((await world.get("volume", "a")).spec.claimRef.name).toBe("x");
  world.berth.kill();
  await world.start();
  world.bind(pod, "n1");
  await world.runtime.settle();
  await world.remove("pod", "d/p");
  await world.runtime.settle();
  await world.runtime.advance(5_000);
  await expectFree(world);
});

test("decision 19: so is one that a bind which timed out wrote", async () => {
  const { world, pod } = await withPod();
  await world.start({ bindTimeoutMs: 30_000 });
  world.bind(pod, "n1");
  await world.runtime.settle();
  await world.runtime.advance(31_000);
  world.bind(pod, "n1");
  await world.runtime.settle();
  await world.remove("pod", "d/p");
  await world.runtime.settle();
  await world.runtime.advance(5_000);
  await expectFree(world);
});
