/** prioritize by the configured strategy, over the whole server, and what a Pod holds afterwards. */
import { expect, test } from "vitest";
import { defaultScoring, type Strategy, strategies } from "../../src/scheduling/scoring.ts";
import { makeNode, makePod, makePV, makePVC } from "../support/make.ts";
import { extenderArgs, TestServer } from "./support.ts";

const pod = makePod("p", ["x"]);
const names = ["n1", "n2", "n3", "n4"];

/** The disk that fits is 40, 30, 20 and 10Gi; beside it 0, 1, 2 and 3 that are taken. The claim wants 10Gi. */
function fourNodes(strategy: Strategy, nodesMax = 2): TestServer {
  const server = new TestServer({
    scoring: { ...defaultScoring, strategy },
    holds: { ttlMs: 60_000, podsMax: 10, nodesMax },
  }).add(makePVC("x", { request: "10Gi" }));
  for (const [index, on] of names.entries()) {
    server.add(makeNode(on), makePV(`${on}-free`, { on, capacity: `${40 - 10 * index}Gi` }));
    for (let taken = 0; taken < index; taken++) {
      server.add(makePV(`${on}-${taken}`, { on, claim: `${on}-${taken}`, claimUid: "u" }));
    }
  }
  return server;
}

// Surplus 30, 20, 10, 0Gi. Taken afterwards 1 of 1, 2 of 2, 3 of 3, 4 of 4: 100 % everywhere. Utilization 25, 33, 50, 100 %.
const want: Record<Strategy, { readonly scores: readonly number[]; readonly held: readonly string[] }> = {
  "least-surplus": { scores: [2, 4, 7, 10], held: ["n4-free", "n3-free"] },
  "most-allocated": { scores: [], held: ["n1-free", "n2-free"] },
  spread: { scores: [], held: ["n1-free", "n2-free"] },
  upstream: { scores: [8, 7, 5, 0], held: ["n1-free", "n2-free"] },
};

test.for(strategies)("%s: scores in the order asked, and holds on its best nodes", async (strategy) => {
  for (const filtered of [true, false]) {
    const server = fourNodes(strategy);
    if (filtered) await server.post("/v1/filter", extenderArgs(pod, names));
    const { json } = await server.post("/v1/prioritize", extenderArgs(pod, names));
    expect(json).toEqual(want[strategy].scores.map((Score, index) => ({ Host: names[index], Score })));
    expect(server.world.state.reservations.dump().holds.map(({ volumes }) => volumes)).toEqual([want[strategy].held]);
  }
});

test.for([
  ["most-allocated", ["n1-free", "n3-free"], [6, 2, 10]],
  ["spread", ["n2-free", "n1-free"], [6, 10, 2]],
] as const)("%s: the fullest or the emptiest is held", async ([strategy, held, scores]) => {
  const server = fourNodes(strategy);
  // One more free disk on n1, three on n2: 1 of 2, 2 of 5, 3 of 3.
  server.add(makePV("n1-more", { on: "n1", capacity: "50Gi" }));
  for (const more of [1, 2, 3]) server.add(makePV(`n2-more${more}`, { on: "n2", capacity: "50Gi" }));
  const three = names.slice(0, 3);
  await server.post("/v1/filter", extenderArgs(pod, three));
  const { json } = await server.post("/v1/prioritize", extenderArgs(pod, three));
  expect(json).toEqual(scores.map((Score, index) => ({ Host: three[index], Score })));
  expect(server.world.state.reservations.dump().holds[0]?.volumes.toSorted()).toEqual(held.toSorted());
});

test.for(strategies)("%s: an explanation has the scores that kube-scheduler is told", async (strategy) => {
  const server = fourNodes(strategy);
  server.world.add(pod);
  const { json } = await server.get("/debug/explain/d/p");
  const told = want[strategy].scores;
  expect(json.nodes.map(({ score }: { score: number }) => score)).toEqual(told.length > 0 ? told : [10, 10, 10, 10]);
});

test.for(strategies)("%s: a node that has stopped fitting since filter has 0", async (strategy) => {
  const server = fourNodes(strategy, 4);
  await server.post("/v1/filter", extenderArgs(pod, names));
  server.world.state.delete("volume", "n2-free");
  const { json } = await server.post("/v1/prioritize", extenderArgs(pod, names));
  expect(json).toHaveLength(4);
  expect(json[1]).toEqual({ Host: "n2", Score: 0 });
});
