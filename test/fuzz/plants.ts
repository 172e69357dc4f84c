/** Berths with a fault, planted from the test's side in front of the real one: each must be found. */
import type { HttpReply } from "../../src/runtime/runtime.ts";
import { filterNodes, planNode } from "../../src/scheduling/filter.ts";
import { nodeName } from "../../src/scheduling/names.ts";
import type { Request } from "./reader.ts";
import { textOf } from "./replies.ts";
import type { FuzzWorld, Plant } from "./world.ts";

export interface NamedPlant {
  readonly name: string;
  /** The sentence that it breaks, or "memory". */
  readonly breaks: string;
  /** It is found within so many requests of the seeds 1 to 3. */
  readonly within: number;
  readonly plant: Plant;
}

type Ask = (request: Request) => Promise<HttpReply>;

const kept: Buffer[] = [];

export const plants: readonly NamedPlant[] = [
  {
    name: "breaks on deep nesting",
    breaks: "only 200, 4xx and deliberate 503",
    within: 2_000,
    plant: (ask) => async (request) =>
      request.body.includes("[".repeat(600)) ? { ...(await ask(request)), status: 500 } : ask(request),
  },
  {
    name: "takes two spellings of one key for one",
    breaks: "answered 400",
    within: 3_000,
    plant: (ask) => async (request) => {
      const reply = await ask(request);
      const isTwice = reply.status === 400 && textOf(reply).includes("twice") && request.path === "/v1/filter";
      return isTwice ? ask({ ...request, body: Buffer.from(lastSpelling(request.body)) }) : reply;
    },
  },
  {
    name: "reads numbers as names",
    breaks: "only a bind writes",
    within: 6_000,
    plant: (ask, world) => async (request) => {
      const uid = world.pods[0]?.metadata.uid;
      const isOdd = request.path === "/v1/bind" && (await ask(request)).status === 400;
      if (!isOdd || !request.body.includes("no-claims")) return ask(request);
      const body = { PodName: "no-claims", PodNamespace: "d", PodUID: uid, Node: "n001" };
      return ask({
        ...request,
        contentType: "application/json",
        method: "POST",
        body: Buffer.from(JSON.stringify(body)),
      });
    },
  },
  {
    name: "holds volumes for a Pod that it cannot read",
    breaks: "what is refused changes nothing",
    within: 500,
    plant: (ask, world) => async (request) => {
      const reply = await ask(request);
      if (textOf(reply).includes("cannot be read")) holdSomething(world);
      return reply;
    },
  },
  {
    name: "merges what it reads into an object of its own",
    breaks: "no prototype is touched",
    within: 1_000,
    plant: (ask) => async (request) => {
      merge({}, parsed(request.body));
      return ask(request);
    },
  },
  {
    name: "answers for nodes that nobody asked about",
    breaks: "each node that was asked about is passed or refused",
    within: 500,
    plant: changingFilter((text) =>
      text
        .replace(/"NodeNames":\["n\d+"/, (found) => `${found},"n099"`)
        .replace('"items":[{', '"items":[{"metadata":{"name":"n099"}},{'),
    ),
  },
  {
    name: "leaves a field out that Go cannot do without",
    breaks: "a reply has its form",
    within: 100,
    plant: changingFilter((text) => text.replace(/,"Error":"[^"]*"\}$/, "}")),
  },
  {
    name: "drops an object when an explanation names nobody",
    breaks: "what is refused changes nothing",
    within: 3_000,
    plant: (ask, world) => async (request) => {
      const reply = await ask(request);
      if (request.path.startsWith("/debug/claim") && reply.status === 404)
        world.berth.cluster.state.delete("node", "n005");
      return reply;
    },
  },
  {
    name: "lets go of another Pod's hold",
    breaks: "a call changes its own Pod's holds alone",
    within: 2_000,
    plant: (ask, world) => async (request) => {
      const reply = await ask(request);
      const { reservations } = world.berth.cluster.state;
      const [first] = reservations.holds.dump();
      if (first && request.path === "/v1/preempt" && reply.status === 200) reservations.release(first.pod);
      return reply;
    },
  },
  {
    name: "keeps every body that it refuses",
    breaks: "memory",
    within: 6_000,
    plant: (ask) => async (request) => {
      const reply = await ask(request);
      if (reply.status === 400) kept.push(Buffer.from(request.body));
      return reply;
    },
  },
];

/** What the plants keep, let go. */
export function uproot(): void {
  kept.length = 0;
}

function changingFilter(change: (text: string) => string): Plant {
  return (ask: Ask) => async (request) => {
    const reply = await ask(request);
    const isFilter = request.path === "/v1/filter" && reply.status === 200;
    return isFilter ? { ...reply, body: change(textOf(reply)) } : reply;
  };
}

function holdSomething(world: FuzzWorld): void {
  const { state } = world.berth.cluster;
  const pod = state.get("pod", "d/one");
  if (!pod || filterNodes(state, pod, [nodeName("n001")]).kind !== "judged") return;
  const verdict = planNode(state, pod, nodeName("n001"));
  if (verdict.kind === "judged" && verdict.nodes.fits) state.reservations.hold(pod.uid, [verdict.nodes.plan]);
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

/** As careless code has it. */
function merge(into: Record<string, unknown>, from: unknown): void {
  if (typeof from !== "object" || from === null) return;
  for (const [key, value] of Object.entries(from)) {
    // What is built in stays whole, or the test would break before the judge has looked.
    if (key !== "__proto__" && key in {}) continue;
    const known = into[key];
    if (typeof known === "object" && known !== null) merge(known as Record<string, unknown>, value);
    else if (typeof value !== "object") into[key] = value;
    else if (known === undefined) {
      into[key] = {};
      merge(into[key] as Record<string, unknown>, value);
    }
  }
}

function lastSpelling(body: Buffer): string {
  const last = new Map<string, unknown>();
  for (const [key, value] of Object.entries(parsed(body) as object)) last.set(key.toLowerCase(), value);
  return JSON.stringify(Object.fromEntries(last));
}
