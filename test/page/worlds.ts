/** Clusters to look at: what each page must show well. */
import type { Bytes } from "../../src/scheduling/quantity.ts";
import { extenderArgs, TestServer } from "../server/support.ts";
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeNode,
  makePod,
  makePV,
  makePVC,
  type Raw,
} from "../support/make.ts";

export interface PageWorld {
  readonly server: TestServer;
  /** Of the Pod to look at; absent where the overview is the point. */
  readonly path: string;
}

const driver = "lvm.example.com";

function driverOn(...nodes: readonly string[]): Raw[] {
  return [
    makeDriver(driver, true),
    makeClass("lvm", { provisioner: driver }),
    ...nodes.map((node) => makeCsiNode(node, driver)),
  ];
}

/** kube-scheduler asks about a Pod on all nodes. */
export async function askAbout(server: TestServer, pod: Raw, names = server.world.nodes()): Promise<void> {
  await server.post("/v1/filter", extenderArgs(pod, names));
}

/** A few nodes of a shop, of which one is cordoned; Pods refused for several reasons, promised, held, not asked about. */
export async function shop(): Promise<PageWorld> {
  const server = new TestServer();
  const nodes = ["alpha", "bravo", "charlie", "delta", "echo"];
  const cordoned = makeNode("echo");
  server.add(
    ...nodes.slice(0, 4).map((node) => makeNode(node)),
    { ...cordoned, spec: { unschedulable: true } },
    ...driverOn("alpha", "bravo", "charlie"),
    makeCapacity("c-alpha", { class: "lvm", on: "alpha", capacity: "80Gi", max: "60Gi" }),
    makeCapacity("c-bravo", { class: "lvm", on: "bravo", capacity: "400Gi" }),
    makeCapacity("c-charlie", { class: "lvm", on: "charlie", capacity: "20Gi" }),
    makePV("alpha-ssd-1", { on: "alpha", capacity: "100Gi" }),
    makePV("alpha-ssd-2", { on: "alpha", capacity: "50Gi" }),
    makePV("alpha-ssd-3", { on: "alpha", capacity: "50Gi", phase: "Released", claim: "old", claimUid: "gone" }),
    makePV("bravo-ssd-1", { on: "bravo", capacity: "50Gi" }),
    makePV("bravo-ssd-2", { on: "bravo", capacity: "100Gi", volumeMode: "Block" }),
    makePV("charlie-ssd-1", { on: "charlie", capacity: "200Gi" }),
    makePV("echo-ssd-1", { on: "echo", capacity: "200Gi" }),
    makePVC("data-db-0", { request: "100Gi" }),
    makePVC("wal-db-0", { request: "100Gi", class: "lvm" }),
    makePVC("data-cache-0", { request: "40Gi" }),
    makePVC("data-search-0", { request: "300Gi" }),
    makePVC("data-queue-0", { request: "10Gi", class: "lvm" }),
    makePVC("scratch", { request: "10Gi", class: "lvm" }),
    makePVC("archive", { request: "150Gi" }),
  );
  const pods = {
    db: makePod("db-0", ["data-db-0", "wal-db-0"], { uid: "u-db" }),
    cache: makePod("cache-0", ["data-cache-0"], { uid: "u-cache" }),
    search: makePod("search-0", ["data-search-0"], { uid: "u-search" }),
    queue: makePod("queue-0", ["data-queue-0"], { uid: "u-queue" }),
    missing: makePod("report-7c9f", ["reports"], { uid: "u-missing" }),
    idle: makePod("batch-1", ["scratch"], { uid: "u-idle" }),
    archive: makePod("archive", ["archive"], { uid: "u-archive" }),
  };
  server.add(...Object.values(pods));
  await askAbout(server, pods.search);
  await server.runtime.advance(700_000);
  await askAbout(server, pods.search);
  await server.runtime.advance(95_000);
  await askAbout(
    server,
    pods.db,
    server.world.nodes().filter((node) => node !== "echo"),
  );
  await askAbout(server, pods.missing);
  await server.runtime.advance(20_000);
  await askAbout(server, pods.cache);
  await server.runtime.advance(4_000);
  promise(server, "u-archive", pods.archive, "charlie");
  server.running.set("u-archive" as never, "charlie" as never);
  await server.runtime.advance(7_000);
  await askAbout(server, pods.queue, ["bravo", "charlie"] as never);
  return { server, path: "/debug/pods/d/db-0" };
}

function promise(server: TestServer, uid: string, pod: Raw, node: string): void {
  server.world.state.reservations.assume(uid as never, server.world.plan(server.world.read(pod), node));
}

/** Many nodes, two claims on local disks and one to be provisioned. */
export async function many(nodeCount: number, claimCount = 3): Promise<PageWorld> {
  const server = new TestServer();
  const names = Array.from({ length: nodeCount }, (_, index) => `node-${String(index).padStart(5, "0")}`);
  server.add(...names.map((node) => makeNode(node)), ...driverOn(...names.filter((_, index) => index % 3 > 0)));
  for (const [index, node] of names.entries()) {
    for (let disk = 0; disk < (index % (nodeCount > 5_000 ? 2 : 4)) + 1; disk++) {
      server.add(makePV(`${node}-disk-${disk}`, { on: node, capacity: disk === 0 ? "40Gi" : "150Gi" }));
    }
    if (index % 3 === 1) server.add(makeCapacity(`c-${node}`, { class: "lvm", on: node, capacity: "30Gi" }));
  }
  const claims = Array.from({ length: claimCount }, (_, index) => `data-${index}`);
  server.add(
    ...claims.map((claim, index) => makePVC(claim, { request: "100Gi", class: index % 3 === 2 ? "lvm" : "local" })),
  );
  const pod = makePod("big-0", claims);
  server.add(pod);
  await askAbout(server, pod);
  await server.runtime.advance(61_000);
  return { server, path: "/debug/pods/d/big-0" };
}

export function empty(): PageWorld {
  return { server: new TestServer().add(makeNode("n1"), makeNode("n2")), path: "/debug/" };
}

export async function notReady(): Promise<PageWorld> {
  const world = await shop();
  world.server.readiness = { ready: false, why: "not heard of for 150 s: volume, claim" };
  return world;
}

/** As long as names may be, all of them. */
export async function longNames(): Promise<PageWorld> {
  const server = new TestServer();
  const long = (name: string): string => `${name}-${"abcdefghi-".repeat(25)}`.slice(0, 246).replace(/-$/, "");
  const nodes = ["n1", "n2", "n3"].map(long);
  server.add(
    ...nodes.map((node) => makeNode(node, { "kubernetes.io/hostname": node.slice(0, 63) })),
    ...nodes.map((node, index) => makePV(long(`disk-${index}`), { on: node.slice(0, 63), capacity: `${index + 1}Gi` })),
    ...nodes.map((node, index) =>
      makePV(long(`spare-${index}`), { on: node.slice(0, 63), capacity: `${index + 1}Gi` }),
    ),
    makePVC(long("data"), { request: "3Gi" }),
    makePVC(long("log"), { request: "3Gi" }),
  );
  const pod = makePod(long("db"), [long("data"), long("log")]);
  server.add(pod);
  await askAbout(server, pod);
  return { server, path: `/debug/pods/d/${long("db")}` };
}

/** What a node has of a class, in an annotation. */
const capacity = { from: "annotation", name: "example.com/free", unit: 1n as Bytes, means: "free" } as const;

/** No name holds a slash, for keys are parted by it. */
export const nameOf = (attack: string): string => attack.replaceAll("/", "_");

/**
 * Everything that can be named is named so, and says so: names, labels, taints, annotations, and the words of others. The API would refuse
 * most of these names; a sandbox need not.
 */
export async function named(attacks: readonly string[]): Promise<PageWorld> {
  const classes = attacks.map(
    (attack) => ({ name: `${nameOf(attack)}-annotated`, provisioning: "dynamic", capacity }) as const,
  );
  const server = new TestServer({ classes });
  for (const [index, attack] of attacks.entries()) await attackWith(server, attack, index);
  const all = attacks.join(" ");
  server.readiness = { ready: false, why: all };
  Object.assign(server.parts.leadership, { describe: () => ({ mode: all, holder: all, problem: all }) });
  return { server, path: "/debug/" };
}

async function attackWith(server: TestServer, attack: string, index: number): Promise<void> {
  const name = nameOf(attack);
  const host = `host-${index}`;
  const taints = [{ key: attack, value: attack, effect: "NoSchedule" }];
  const node = (suffix: string, annotations = {}): Raw => {
    const made = makeNode(`${name}${suffix}`, { "kubernetes.io/hostname": `${host}${suffix}`, zone: attack });
    return { ...made, metadata: { ...(made["metadata"] as Raw), annotations }, spec: { taints } };
  };
  const claim = (suffix: string, facts: Parameters<typeof makePVC>[1]): Raw =>
    makePVC(`${name}${suffix}`, { namespace: name, uid: `claim-${index}${suffix}`, ...facts });
  const pod = (suffix: string, claims: readonly string[]): Raw => {
    const made = makePod(`${name}${suffix}`, claims, { uid: `u-${index}${suffix}` });
    const annotations = { "example.com/note": attack };
    const metadata = { ...(made["metadata"] as Raw), namespace: name, annotations };
    return { ...made, metadata, spec: { ...(made["spec"] as Raw), schedulerName: attack } };
  };
  const nowhere = { terms: [{ matchExpressions: [{ key: "zone", operator: "NotIn", values: [attack] }] }] };
  server.add(
    node("", { "example.com/free": attack }),
    node("-2"),
    makeClass(name, { provisioner: name }),
    makeClass(`${name}-annotated`, { provisioner: name }),
    makeDriver(name, true),
    makeCsiNode(`${name}-2`, name),
    makeCsiNode(name, name),
    makeCapacity(name, { class: name, on: `${host}-2`, capacity: "1Gi" }),
    makePV(`${name}-a`, { on: host, class: name, capacity: "1Gi" }),
    makePV(`${name}-b`, { on: host, class: name, capacity: "2Gi", volumeMode: "Block" }),
    makePV(`${name}-bound`, {
      ...nowhere,
      class: name,
      claim: `${name}/${name}-bound`,
      claimUid: `claim-${index}-bound`,
    }),
    claim("", { class: name }),
    claim("-annotated", { class: `${name}-annotated` }),
    claim("-bound", { class: name, volume: `${name}-bound` }),
    claim("-underway", { class: name, selectedNode: attack }),
    claim("-free", { class: name, request: "1Gi" }),
  );
  const refused = pod("", [name, `${name}-annotated`, `${name}-bound`, `${name}-underway`]);
  const [holding, failing] = [pod("-holding", [`${name}-free`]), pod("-failing", [name])];
  server.add(refused, holding, failing);
  const own = server.world.nodes().filter((known) => known.startsWith(name));
  for (const one of [refused, holding]) await askAbout(server, one, own);
  server.readiness = { ready: false, why: attack };
  await askAbout(server, failing, own);
  server.readiness = { ready: true };
}

/** Its bound volume is on a node that is full and cordoned, which kube-scheduler does not offer. */
export async function pinned(): Promise<PageWorld> {
  const server = new TestServer();
  const full = makeNode("n2");
  const requesting = (name: string, cpu: string): Raw => {
    const made = makePod(name, ["data"], { uid: `u-${name}` });
    const containers = [{ name: "main", image: "main", resources: { requests: { cpu } } }];
    return { ...made, spec: { ...(made["spec"] as Raw), priority: 50, containers } };
  };
  const pod = requesting("db-0", "4");
  server.add(
    makeNode("n1"),
    { ...full, spec: { unschedulable: true } },
    makeNode("n3"),
    makePV("disk-2", { on: "n2", claim: "data", claimUid: "udata" }),
    makePVC("data", { volume: "disk-2" }),
    pod,
  );
  server.podNamed = () => ({ ok: true, pods: [pod], isWhole: true });
  server.podsOn = () => ({ ok: true, pods: [requesting("web", "5"), requesting("batch", "2")], isWhole: true });
  await askAbout(server, pod, ["n1", "n3"] as never);
  return { server, path: "/debug/pods/d/db-0" };
}

/** Each of its claims finds a node, and no node serves both. */
export async function apart(): Promise<PageWorld> {
  const server = new TestServer().add(
    makeNode("n1"),
    makeNode("n2"),
    makePV("large", { on: "n1", capacity: "100Gi" }),
    makePV("taken", { on: "n2", capacity: "100Gi", claim: "other", claimUid: "uother" }),
    makePV("small", { on: "n2", capacity: "10Gi" }),
    makeClass("fast"),
    makePV("quick", { on: "n2", capacity: "20Gi", class: "fast" }),
    makePVC("other", { volume: "taken" }),
    makePVC("data", { request: "50Gi" }),
    makePVC("wal", { request: "15Gi", class: "fast" }),
  );
  const pod = makePod("db-0", ["data", "wal"]);
  server.add(pod);
  await askAbout(server, pod);
  return { server, path: "/debug/pods/d/db-0" };
}

/** Refused by every node for the claim's own sake. */
export async function hopeless(): Promise<PageWorld> {
  const world = await shop();
  return { ...world, path: "/debug/pods/d/report-7c9f" };
}
