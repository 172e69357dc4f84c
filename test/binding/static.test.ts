/** Static volumes: what is written, in which order, and what a bind answers. */
import { expect, test } from "vitest";
import { World } from "./world.ts";

test("106: a claim on a free volume gets a claimRef, is awaited, and the pod is bound with its uid", async () => {
  const world = new World();
  await world.nodes("n1");
  await world.pv("a", { on: "n1" });
  const x = await world.pvc("x");
  const pod = await world.pod("p", ["x"]);
  await world.start();
  const bind = world.bind(pod, "n1");
  await world.runtime.settle();
  expect(bind.answer).toBeUndefined();
  expect(world.writes).toHaveLength(1);
  await world.controlVolumes();
  expect(bind.answer).toBe("ok");
  expect(x.metadata.uid).toBeDefined();
  expect((await world.get("pod", "d/p")).spec.nodeName).toBe("n1");
});
