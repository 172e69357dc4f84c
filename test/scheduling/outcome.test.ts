/** What is said of a node that refuses. */
import { expect, test } from "vitest";
import { refusal } from "../../src/scheduling/outcome.ts";
import { World } from "../support/world.ts";

test("a node that refuses promises nothing, and contends for nothing", () => {
  const world = new World();
  world.apply("pvc x");
  const claims = [...world.state.keys("claim")].flatMap((key) => world.state.get("claim", key) ?? []);
  const refusals = claims.map((claim) => ({ reason: "notEnoughVolumes" as const, claim }));
  expect(refusals).toHaveLength(1);
  expect(refusal(refusals)).toEqual({
    refusals,
    contended: false,
    volumes: [],
    pools: [],
    sizes: new Float64Array(0),
  });
});
