/** An explanation of many nodes holds up nobody, and says where it is cut short or overtaken. */
import { expect, test } from "vitest";
import { makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";
import { extenderArgs, TestServer } from "./support.ts";

const pod = makePod("p", ["x"]);

/** Nodes whose one disk is too small; the last one has none. */
function refusing(count: number, ...more: Raw[]): TestServer {
  const server = new TestServer().add(makePVC("x"), pod, ...more);
  for (let node = 0; node < count; node++) {
    server.add(makeNode(`n${node}`));
    if (node > 0) server.add(makePV(`v${node}`, { on: `n${node}`, capacity: "1Gi" }));
  }
  return server;
}

const explain = (server: TestServer, how: "explain" | "simulate", accept = "application/json") =>
  how === "explain"
    ? server.get("/debug/explain/d/p", { accept })
    : server.postDebug("/debug/simulate", pod, { accept });

test.for(["explain", "simulate"] as const)(
  "kube-scheduler's calls are answered before an explanation of 5,000 nodes is finished (%s)",
  async (how) => {
    const server = refusing(5_000);
    const order: string[] = [];
    const explained = explain(server, how).then(() => void order.push("explained"));
    for (let call = 0; call < 3; call++) {
      await server.post("/v1/filter", extenderArgs(makePod(`q${call}`, ["x"]), ["n1"]));
      order.push("filtered");
      await server.runtime.yield();
    }
    await explained;
    expect(order).toEqual(["filtered", "filtered", "filtered", "explained"]);
  },
);

test("several explanations take turns: together they hold up nobody longer than one", async () => {
  const server = refusing(640);
  let finished = 0;
  const all = Array.from({ length: 4 }, () => explain(server, "explain").then(() => void finished++));
  let turns = 0;
  while (finished < 4) {
    await server.runtime.yield();
    turns++;
  }
  await Promise.all(all);
  // 20 steps of 32 nodes each, one a turn.
  expect(turns).toBeGreaterThanOrEqual(4 * 20);
});

test("a change in between is noted, and each node is told of as it was at its turn", async () => {
  const server = refusing(200);
  const explained = explain(server, "explain");
  await server.runtime.yield();
  server.add(makePV("late", { on: "n9", capacity: "10Gi" }));
  const { json } = await explained;
  expect(json.notes.join()).toContain("the cluster changed while this was written");
  expect((await explain(server, "explain")).json.notes.join()).not.toContain("the cluster changed");
});

test("a claim that goes in between ends the explanation with what holds for every node", async () => {
  const server = refusing(200);
  const explained = explain(server, "explain");
  await server.runtime.yield();
  server.world.state.delete("claim", "d/x");
  const { json } = await explained;
  expect(json).toMatchObject({ schedulable: false, reason: 'persistentvolumeclaim "x" not found' });
  expect(json.nodes).toHaveLength(200);
});

test("a node that goes in between is unknown, and nothing breaks", async () => {
  const server = refusing(200);
  const explained = explain(server, "explain");
  await server.runtime.yield();
  server.world.state.delete("node", "n99");
  const { status, json } = await explained;
  expect(status).toBe(200);
  expect(json.nodes.at(-1)).toMatchObject({ node: "n99", reason: "node(s) not known to the volume extender" });
});

test("of very many nodes some of each kind are shown, the others counted", async () => {
  const server = refusing(3_000, makePV("fits", { on: "n42", capacity: "10Gi" }));
  const { json } = await explain(server, "explain");
  expect(json.nodes).toHaveLength(1_000);
  expect(json.omitted).toEqual({ nodes: 2_000, fits: 0 });
  const kinds = json.nodes.filter(({ fits }: { fits: boolean }) => fits);
  expect(kinds).toMatchObject([{ node: "n42", fits: true, claims: [{ volume: "fits" }] }]);
  const { text } = await explain(server, "simulate", "text/plain");
  expect(text).toMatch(/^Pod d\/p: 1 of 3000 nodes fit\n/);
  expect(text).toContain("\n2000 more nodes are not shown; 0 of them fit\n");
});

test("where many fit, those that are not shown are still known to fit and not to have been offered", async () => {
  const server = new TestServer().add(makePVC("x"), pod, makePV("anywhere"));
  for (let node = 0; node < 1_500; node++) server.add(makeNode(`n${node}`));
  await server.post("/v1/filter", extenderArgs(pod, ["n0"]));
  const { json } = await explain(server, "explain");
  expect(json.omitted).toEqual({ nodes: 500, fits: 500 });
  expect(json.feasibleNotOffered).toHaveLength(1_499);
});

test("a caller who hangs up ends the work", async () => {
  const server = refusing(5_000);
  const gone = new AbortController();
  const explained = server.get("/debug/explain/d/p", {}, "debug", gone.signal);
  await server.runtime.yield();
  gone.abort();
  expect((await explained).status).toBe(503);
});
