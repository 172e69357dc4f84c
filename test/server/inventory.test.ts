/** The inventory on /metrics: what it says, how often it is taken, and that it holds nobody up. */
import { expect, test } from "vitest";
import { headOf, sampleOf } from "../../src/metrics/exposition.ts";
import { inventoryFamilies } from "../../src/metrics/inventory.ts";
import { InventoryPage } from "../../src/server/inventory.ts";
import { makeNode, makePod, makePV, makePVC } from "../support/make.ts";
import { extenderArgs, TestServer } from "./support.ts";

test("volumes and claims are on /metrics by class and phase, and how large the largest free volume is", async () => {
  const server = new TestServer().add(
    makePV("a", { capacity: "20Gi" }),
    makePV("b", { phase: "Released", since: "2026-01-01T00:00:00Z" }),
    makePVC("c"),
  );
  const { text } = await server.get("/metrics");
  const lines = text.split("\n");
  expect(lines).toContain('berth_volumes{class="local",phase="Available"} 1');
  expect(lines).toContain('berth_volumes_bytes{class="local",phase="Available"} 21474836480');
  expect(lines).toContain('berth_free_volume_largest_bytes{class="local"} 21474836480');
  expect(lines).toContain('berth_oldest_released_volume_timestamp_seconds{class="local"} 1767225600');
  expect(lines).toContain('berth_claims{class="local",phase="pending"} 1');
  expect(text).not.toContain("berth_node_free_bytes");
});

test("nodes are named only where the configuration says so", async () => {
  const server = new TestServer({ metrics: { perNode: true, classesMax: 10 } }).add(
    makeNode("n1"),
    makePV("a", { on: "n1", capacity: "20Gi" }),
  );
  expect(await server.metric('berth_node_free_bytes{node="n1",class="local"}')).toBe(20 * 2 ** 30);
  const { text } = await server.get("/metrics");
  expect(inventoryFamilies.filter((family) => !text.includes(headOf(family)))).toEqual([]);
});

test("within five seconds the same look is told again", async () => {
  const server = new TestServer().add(makePV("a"));
  const available = 'berth_volumes{class="local",phase="Available"}';
  expect(await server.metric(available)).toBe(1);
  server.add(makePV("b"));
  await server.runtime.advance(4_999);
  expect(await server.metric(available)).toBe(1);
  await server.runtime.advance(1);
  expect(await server.metric(available)).toBe(2);
});

test("a Pod that is refused everywhere waits, and is counted", async () => {
  const server = new TestServer().add(makeNode("n1"), makePVC("c"), makePod("p", ["c"]));
  await server.post("/v1/filter", extenderArgs(makePod("p", ["c"]), ["n1"]));
  expect(await server.metric("berth_pods_waiting")).toBe(1);
});

test("a large cluster is looked at in many turns, and two who ask share one look", async () => {
  const server = new TestServer();
  for (let index = 0; index < 20_000; index++) server.add(makePV(`v${index}`));
  let turns = 0;
  const runtime = {
    ...server.runtime,
    yield: () => {
      turns++;
      return server.runtime.yield();
    },
  };
  const page = new InventoryPage({ ...server.parts, runtime });
  const [one, other] = await Promise.all([page.text(), page.text()]);
  expect(one).toContain('berth_volumes{class="local",phase="Available"} 20000');
  expect(other).toBe(one);
  // 20,000 volumes are looked at once; the clock stands still, so a slice is 4,096 steps.
  expect(turns).toBe(Math.floor(20_000 / 4_096));
});

test("whoever would wait too long for a new look gets the last one, which goes on meanwhile", async () => {
  const server = new TestServer();
  for (let index = 0; index < 5_000; index++) server.add(makePV(`v${index}`));
  let open = (): void => {};
  let held: Promise<void> | undefined;
  const runtime = { ...server.runtime, yield: () => held ?? server.runtime.yield() };
  const page = new InventoryPage({ ...server.parts, runtime });
  const first = await page.text();
  await server.runtime.advance(5_000);
  server.add(makePV("new"));
  held = new Promise((resolve) => {
    open = resolve;
  });
  const second = page.text();
  await server.runtime.advance(3_000);
  expect(await second).toBe(first);
  held = undefined;
  open();
  expect(await page.text()).toContain(" 5001\n");
  expect(server.runtime.pending()).toBe(0);
});

test("label values are escaped as the format demands", () => {
  const family = { name: "berth_x", help: "Something.", labels: ["a", "b"] };
  expect(headOf(family)).toBe("# HELP berth_x Something.\n# TYPE berth_x gauge\n");
  expect(sampleOf(family, ['q"\\\n', "plain"], 3n)).toBe('berth_x{a="q\\"\\\\\\n",b="plain"} 3\n');
});
