/** After quiet time: caches equal a fresh list, nothing is promised or under way, who can be placed is, who is refused is told why. */
import { kindInfo } from "../../src/apis/kubernetes.ts";
import type { PodUid, VolumeName } from "../../src/scheduling/names.ts";
import { type Kind, kinds } from "../../src/scheduling/objects.ts";
import { zero } from "../../src/scheduling/quantity.ts";
import type { Berth } from "../../src/server/berth.ts";
import type { Body } from "../binding/world.ts";
import type { Answer } from "../oracle/naive.ts";
import { claimsOf } from "./cluster.ts";
import { askOracle, oracleOf } from "./oracle-view.ts";
import type { Replica } from "./replica.ts";
import type { Plural } from "./server.ts";
import type { World } from "./world.ts";

const signal = new AbortController().signal;

/** Takes what did not hold. */
export interface Complaints {
  find(invariant: string, text: string): void;
}

export async function judgeEnd(world: World, judge: Complaints): Promise<void> {
  const asked = await world.whoIsAsked();
  if (asked.length !== 1) {
    const says = world.replicas.map(
      ({ name, berth }) => `${name}: ${berth ? JSON.stringify(berth.cluster.readiness()) : "down"}`,
    );
    judge.find("one Berth is ready", `${asked.map(({ name }) => name).join(" and ") || "none"} of ${says.join(", ")}`);
    return;
  }
  for (const replica of world.replicas) {
    if (!replica.berth) continue;
    decideSomething(replica.berth);
    judgeCache(world, judge, replica.name, replica.berth);
    judgePromises(judge, replica.name, replica.berth);
    await judgeWork(judge, replica);
  }
  const [leader] = asked;
  if (leader) await judgePods(world, judge, leader);
}

/** Holds whose time is over are cleared away by the next decision. */
function decideSomething({ cluster }: Berth): void {
  cluster.state.reservations.holds.without("nobody" as PodUid, [], () => {});
}

function isWatched(kind: Kind, object: Body): boolean {
  return kind !== "pod" || object.status?.phase === "Pending";
}

function judgeCache(world: World, judge: Complaints, name: string, { cluster }: Berth): void {
  for (const kind of kinds) {
    const plural = kindInfo[kind].plural as Plural;
    const there = [...(world.server.objects.get(plural) ?? [])].filter(([, object]) => isWatched(kind, object));
    const want = there.map(([key, { metadata }]) => `${key} ${metadata.uid} ${metadata.resourceVersion}`).sort();
    const has = [...cluster.state.keys(kind)].map((key) => {
      const object = cluster.state.get(kind, key);
      return `${key} ${object?.uid} ${object?.resourceVersion}`;
    });
    has.sort();
    if (want.join() === has.join()) continue;
    const missing = want.filter((line) => !has.includes(line));
    const surplus = has.filter((line) => !want.includes(line));
    judge.find("after quiet time the cache equals a fresh list", `${name}: ${kind}: lacks ${missing}, has ${surplus}`);
  }
}

function judgePromises(judge: Complaints, name: string, { cluster }: Berth): void {
  const { holds, assumptions } = cluster.state.reservations.dump();
  if (holds.length > 0) judge.find("after quiet time nothing is held", `${name}: ${JSON.stringify(holds)}`);
  const { state } = cluster;
  const counted = [...state.keys("volume")].filter((key) => {
    const id = state.volumes.id(key as VolumeName);
    return id !== undefined && (state.volumes.held[id] ?? 0) > 0;
  });
  const pools = [...state.pools.all()].filter((pool) => pool.held !== zero).map(({ key }) => key);
  if (holds.length === 0 && counted.length + pools.length > 0)
    judge.find("after quiet time nothing is held", `${name}: ${[...counted, ...pools]}`);
  if (assumptions.length > 0) {
    judge.find(
      "after quiet time nothing is assumed",
      `${name}: ${assumptions.map(({ claim, node }) => `${claim} on ${node}`)}`,
    );
  }
}

async function judgeWork(judge: Complaints, { berth, name }: Replica): Promise<void> {
  const reply = await berth?.debug({ method: "GET", path: "/debug/state", headers: {} }, signal);
  const page = reply && JSON.parse(String(reply.body));
  const { count, first } = page?.bindsInProgress ?? { count: 0 };
  if (count > 0) judge.find("after quiet time no bind is in progress", `${name}: ${JSON.stringify(first)}`);
}

/** Each Pod that waits is asked about anew, and the oracle is asked the same. */
async function judgePods(world: World, judge: Complaints, { berth }: Replica): Promise<void> {
  const naive = oracleOf(world.server);
  for (const pod of world.server.all("pods")) {
    const { metadata, spec } = pod;
    if (spec.nodeName !== undefined || metadata.deletionTimestamp !== undefined) continue;
    const want = askOracle(naive, pod);
    const key = `${metadata.namespace}/${metadata.name}`;
    const fits = want.pod?.startsWith("every node")
      ? world.server.all("nodes")
      : want.nodes.filter((node) => node.fits);
    if (fits.length > 0 && world.server.all("nodes").length > 0) {
      judge.find("who can be placed is placed", `${key} waits: ${tell(want)}; its claims ${claimsOf(pod)}`);
    }
    const NodeNames = world.server.all("nodes").map((node) => node.metadata.name);
    if (NodeNames.length === 0 || !berth) continue;
    const body = JSON.stringify({ Pod: pod, Nodes: null, NodeNames });
    const reply = await berth.extender({ method: "POST", path: "/v1/filter", headers: {}, body }, signal);
    const answer = JSON.parse(Buffer.from(reply.body as Uint8Array).toString());
    judgeReasons(judge, key, want, answer);
  }
}

function judgeReasons(judge: Complaints, key: string, want: Answer, answer: Body): void {
  const refused: Record<string, string> = answer.FailedAndUnresolvableNodes ?? {};
  const wrong = (text: string): void =>
    judge.find("who is refused is told why", `${key}: ${text}, the oracle says ${tell(want)}`);
  if (answer.Error) {
    wrong(`Error ${answer.Error}`);
    return;
  }
  const forAll = /\((.*)\)$/s.exec(want.pod ?? "")?.[1];
  for (const [node, text] of Object.entries(refused)) {
    const told = forAll ?? want.nodes.find((one) => one.node === node)?.text;
    if (told !== text) wrong(`${node}: ${text}`);
  }
}

function tell({ pod, nodes }: Answer): string {
  return pod ?? nodes.map(({ line }) => line).join("; ");
}
