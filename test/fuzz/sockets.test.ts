/** Every attack on the listener, and some hundred idle connections; `npm run fuzz -- --sockets` has 10,000 of them. */
import { expect, test } from "vitest";
import { attack, attacks, idle } from "./sockets.ts";
import { FuzzWorld } from "./world.ts";

test.for(attacks)("$name: nothing breaks, and the next call is answered", async (one) => {
  const world = await FuzzWorld.open({ nodes: 2 });
  expect(await attack(one, world)).toBeUndefined();
  expect(world.faults).toEqual([]);
  world.close();
});

test("300 connections that say nothing keep nobody from being answered", async () => {
  const world = await FuzzWorld.open({ nodes: 2 });
  expect(await idle(world, 300)).toMatchObject({ open: 300, problem: undefined });
  world.close();
});
