/** The whole sandbox on a network that delays, loses and cuts: it gets there late, and never ties a volume twice. */
import { expect, test } from "vitest";
import type { Exchange, HttpReply } from "../../src/runtime/runtime.ts";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import { virtualRuntime } from "../support/clock.ts";
import { PlainVolumeBinder } from "./fake-extender.ts";
import { claim, type Json, node, storageClass, volume } from "./world.ts";

const replicas = 5;

/** Up to 200 ms each way; one request in twenty is lost on its way, one reply in twenty on its way back. */
function bad(exchange: Exchange, runtime: ReturnType<typeof virtualRuntime>): Exchange {
  return async (request, signal) => {
    await runtime.sleep(runtime.random() * 200);
    if (runtime.random() < 0.05) throw new Error("the request was lost");
    const reply = await exchange(request, signal);
    await runtime.sleep(runtime.random() * 200);
    if (runtime.random() < 0.05) throw new Error("the reply was lost");
    return cut(reply, runtime);
  };
}

/** A watch that breaks off now and then. */
function cut(reply: HttpReply, runtime: ReturnType<typeof virtualRuntime>): HttpReply {
  const { body } = reply;
  if (typeof body === "string" || body instanceof Uint8Array) return reply;
  const broken = async function* (): AsyncIterable<Uint8Array> {
    for await (const chunk of body) {
      if (runtime.random() < 0.02) return;
      yield chunk;
    }
  };
  return { ...reply, body: broken() };
}

function set(name: string, className: string): Json {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name, namespace: "default" },
    spec: {
      serviceName: name,
      replicas,
      podManagementPolicy: "Parallel",
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "app", image: "app" }] } },
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: claim("", { class: className })["spec"] }],
    },
  };
}

const seeds = [1, 2, 3, 4, 5, 6];

test.for(seeds)("every pod runs and every volume has one claim, seed %i", async (seed) => {
  const runtime = virtualRuntime(seed);
  const driver = { name: "lvm.example.com", capacity: { a: "100Gi", b: "100Gi" }, createMs: 300 };
  const wrap = (_who: string, exchange: Exchange): Exchange => bad(exchange, runtime);
  const sandbox = new Sandbox({ runtime, wrap, drivers: [driver], scheduler: false });
  sandbox.startScheduler(new PlainVolumeBinder(sandbox.startAgent("extender")).entries);
  const disks = Array.from({ length: 8 }, (_, index) => volume(`v${index}`, { on: index % 2 ? "a" : "b" }));
  await sandbox.apply([
    storageClass("wait"),
    storageClass("lvm", { provisioner: driver.name, mode: "Immediate" }),
    ...[node("a"), node("b"), ...disks, set("local", "wait"), set("remote", "lvm")],
  ]);
  await runtime.advance(600_000);

  const list = async (path: string): Promise<Json[]> => {
    const request = { method: "GET", path: `/api/v1/${path}`, headers: {} };
    const reply = await sandbox.api.exchange(request, new AbortController().signal);
    return JSON.parse(Buffer.from(reply.body as Uint8Array).toString()).items;
  };
  const pods = await list("pods");
  expect(pods.map(({ status }) => (status as Json)["phase"])).toEqual(pods.map(() => "Running"));
  expect(pods).toHaveLength(2 * replicas);
  const claims = (await list("persistentvolumeclaims")) as { metadata: Json; spec: Json }[];
  const volumes = (await list("persistentvolumes")) as { metadata: Json; spec: { claimRef?: Json }; status: Json }[];
  const tied = volumes.flatMap(({ metadata, spec }) =>
    spec.claimRef ? [`${spec.claimRef["uid"]}=${metadata["name"]}`] : [],
  );
  expect(tied.sort()).toEqual(claims.map(({ metadata, spec }) => `${metadata["uid"]}=${spec["volumeName"]}`).sort());
  expect(sandbox.provisioner(driver.name)?.backend.volumes.size).toBe(replicas);

  sandbox.stop();
  await runtime.settle();
  await runtime.advance(1_000);
  expect(runtime.pending()).toBe(0);
});
