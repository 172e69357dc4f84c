/** What objects carry beside what decisions need is told to nobody: not in the log, on the pages, in events or in answers. */
import { expect, test } from "vitest";
import type { Exchange } from "../../src/runtime/runtime.ts";
import { makeClass, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";
import { ask, Cluster } from "./berth-world.ts";
import { extenderArgs } from "./support.ts";

const canary = (where: string): string => `canary-${where}-value`;

/** Annotations as deployment tools write them: whole objects, credentials and all. */
function marked(object: Raw, where: string): Raw {
  const { annotations, ...metadata } = object["metadata"] as Record<string, unknown>;
  const applied = JSON.stringify({ data: { password: canary(`${where}-applied`) } });
  const more = {
    "kubectl.kubernetes.io/last-applied-configuration": applied,
    "example.com/token": canary(`${where}-annotation`),
  };
  return { ...object, metadata: { ...metadata, annotations: { ...(annotations as object), ...more } } };
}

function withSpec(object: Raw, more: object): Raw {
  return { ...object, spec: { ...(object["spec"] as object), ...more } };
}

const env = [{ name: "PASSWORD", value: canary("env") }];
const containers = [{ name: "main", image: "registry.example.com/main:1", env, args: [canary("argument")] }];
const pod = marked(withSpec(makePod("p", ["x"]), { containers }), "pod");
const volume = marked(makePV("a", { on: "n1" }), "volume");
const objects: readonly Raw[] = [
  { ...marked(makeClass("local"), "class"), parameters: { secret: canary("parameter") } },
  marked(makeNode("n1"), "node"),
  makeNode("n2"),
  withSpec(volume, { mountOptions: [`password=${canary("mount-option")}`] }),
  marked(makePVC("x"), "claim"),
  marked(makePVC("y", { request: "900Ti" }), "claim"),
  pod,
  marked(withSpec(makePod("q", ["y"]), { containers }), "pod"),
];

test("secrets that objects carry are in no log line, on no page, in no event and in no answer", async () => {
  const cluster = new Cluster();
  const bodies: string[] = [];
  let refusesWrites = false;
  cluster.between =
    (inner): Exchange =>
    async (request, signal) => {
      if (request.body !== undefined) bodies.push(Buffer.from(request.body as Uint8Array).toString());
      if (!refusesWrites || request.method === "GET") return inner(request, signal);
      // As an admission webhook.
      return { status: 403, headers: {}, body: JSON.stringify({ message: `denied: ${request.method}` }) };
    };
  await cluster.start(objects, { logLevel: "debug" });
  const { berth, runtime } = cluster;
  const [first, second] = [await cluster.read("pod", "d/p"), await cluster.read("pod", "d/q")];
  const answers: unknown[] = [];
  const call = async (path: string, body: unknown): Promise<void> => {
    const answered = ask(berth.extender, "POST", `/v1/${path}`, body);
    await runtime.advance(2_000);
    answers.push(await answered);
  };
  for (const asked of [first, second]) {
    await call("filter", extenderArgs(asked, ["n1", "n2", "n3"]));
    await call("prioritize", extenderArgs(asked, ["n1", "n2"]));
    await call("preempt", { Pod: asked, NodeNameToMetaVictims: { n1: { Pods: [{ UID: "u" }] } } });
  }
  const bind = { PodName: "p", PodNamespace: "d", PodUID: first.metadata.uid, Node: "n1" };
  refusesWrites = true;
  await call("bind", { ...bind, Node: "n2" });
  await call("bind", bind);
  refusesWrites = false;
  const bound = call("bind", bind);
  await cluster.bindClaim("x", "a");
  await bound;
  // Bodies that cannot be read: the parser likes to quote them.
  for (const body of ["{", '{"Pod": ', `{"Pod": {"metadata": ${canary("broken")}`, `"${canary("text")}"`, "[", "nul"]) {
    for (const verb of ["filter", "prioritize", "preempt", "bind"]) {
      const headers = { "content-type": "application/json" };
      const request = { method: "POST", path: `/v1/${verb}`, headers, body: Buffer.from(`${body} ${canary("rest")}`) };
      const { status, body: said } = await berth.extender(request, new AbortController().signal);
      answers.push({ status, said: Buffer.from(said as string).toString() });
    }
  }
  const named = ["p", "q"].flatMap((name) => [`/debug/explain/d/${name}`, `/debug/pods/d/${name}`]);
  const pages = ["/metrics", "/debug/state", "/debug/", "/debug/claim/d/x", ...named];
  for (const path of pages) answers.push(await ask(berth.debug, "GET", path));
  answers.push(await ask(berth.debug, "POST", "/debug/simulate", second));
  await runtime.advance(10_000);

  const events = bodies.filter((body) => body.includes('"kind":"Event"'));
  expect(events.length).toBeGreaterThan(1);
  expect(cluster.lines.filter(({ level }) => level === "debug").length).toBeGreaterThan(0);
  const told = { log: cluster.lines, answers, written: bodies };
  for (const [where, texts] of Object.entries(told)) {
    const found = JSON.stringify(texts).match(/.{0,80}canary-[\w-]*value/g) ?? [];
    expect(found, where).toEqual([]);
  }
});
