/**
 * A real control plane as a stage for scenarios. The sandbox's kubelet and CSI stand-ins work against it: they know the API
 * alone. Scenarios follow each other on one control plane: `cleanUp` leaves nothing of the last one.
 */
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import { Agent } from "../../src/sandbox/agent.ts";
import { isSandboxConfiguration, parseSandboxConfiguration } from "../../src/sandbox/configuration.ts";
import { startKubelet } from "../../src/sandbox/kubelet.ts";
import { startLocalDisks } from "../../src/sandbox/local-disks.ts";
import { Provisioner } from "../../src/sandbox/provisioner.ts";
import type { Raw } from "../support/make.ts";
import { listPathOf, objectPathOf } from "../support/paths.ts";
import type { Stage } from "../support/scenario.ts";
import type { Reached } from "./on-plane.ts";

export interface RealStage extends Stage {
  call(method: string, path: string, body?: unknown, type?: string): Promise<{ status: number; body: unknown }>;
  /** Deletes everything that scenarios make, and waits until it is gone. */
  clear(): Promise<void>;
  /** Ends the stand-ins, after which the stage is of no use any more. */
  stop(): void;
  /** Both, and the controllers run again. */
  cleanUp(): Promise<void>;
}

const mergePatch = "application/merge-patch+json";

/** @param kubelets  whether nodes and Pods are the stage's to bring up */
export function realStage({ exchange, signal }: Pick<Reached, "exchange" | "signal">, kubelets = true): RealStage {
  const agents: Agent[] = [];
  const agent = (who: string): Agent => {
    const made = new Agent({ who, exchange, runtime });
    agents.push(made);
    return made;
  };
  const stop = (): void => {
    for (const one of agents) one.stop();
  };
  if (kubelets) startRealKubelet(agent("kubelet"));

  const call: RealStage["call"] = async (method, path, body, type = "application/json") => {
    const request = {
      method,
      path,
      headers: { "content-type": type },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const reply = await exchange(request, AbortSignal.timeout(20_000));
    const chunks: Uint8Array[] = [];
    if (typeof reply.body === "string") chunks.push(Buffer.from(reply.body));
    else if (reply.body instanceof Uint8Array) chunks.push(reply.body);
    else for await (const chunk of reply.body) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    return { status: reply.status, body: text === "" ? undefined : JSON.parse(text) };
  };
  const surely: Surely = async (method, path, body, type) => {
    const reply = await call(method, path, body, type);
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  const list = async (kind: string): Promise<Raw[]> =>
    ((await surely("GET", listPathOf(kind))) as { items: Raw[] }).items;
  return {
    call,
    apply: async (object) => {
      if (isSandboxConfiguration(object)) {
        const { drivers, disks } = parseSandboxConfiguration(object);
        for (const driver of drivers) new Provisioner(agent(`provisioner:${driver.name}`), driver);
        if (disks.length > 0) startLocalDisks(agent("local-disks"), disks);
        return;
      }
      await applyOne(object, call, surely);
      if (object["kind"] === "Node") await bringUp(object, kubelets, surely);
    },
    delete: async (kind, namespace, name) => void (await surely("DELETE", objectPathOf(kind, namespace, name))),
    patch: async (kind, namespace, name, merge) =>
      void (await surely("PATCH", objectPathOf(kind, namespace, name), merge, mergePatch)),
    list,
    pause: () => signal("kube-controller-manager", "SIGSTOP"),
    resume: () => signal("kube-controller-manager", "SIGCONT"),
    restart: () => Promise.reject(new Error("the running Berth is not the scenario's own: give it a `config`")),
    pass: (ms) => runtime.sleep(ms),
    clear: () => removeAll(list, call),
    stop,
    cleanUp: async () => {
      stop();
      await signal("kube-controller-manager", "SIGCONT");
      await removeAll(list, call);
    },
  };
}

type Surely = (method: string, path: string, body?: unknown, type?: string) => Promise<unknown>;

/** Also says that a Pod has ended, without which the API server keeps it. */
function startRealKubelet(agent: Agent): void {
  startKubelet(agent);
  const ending = agent.queue(["pods"], async (key) => {
    const pod = agent.informer("pods").get(key);
    if (!pod) return "done";
    const { metadata } = pod;
    const deleted = await agent.client.delete("pods", metadata, { uid: metadata.uid, graceSeconds: 0 });
    return deleted.ok || deleted.status === 404 || deleted.status === 409 ? "done" : "retry";
  });
  agent.feed("pods", ending, ({ metadata, spec }) =>
    metadata.deletionTimestamp && spec.nodeName ? [`${metadata.namespace}/${metadata.name}`] : [],
  );
}

/** In an order in which nothing makes anew what is deleted. */
const kinds = [
  "StatefulSet",
  "Pod",
  "PersistentVolumeClaim",
  "PersistentVolume",
  "CSIStorageCapacity",
  "CSINode",
  "CSIDriver",
  "StorageClass",
  "PriorityClass",
  "Node",
  "Event",
];

async function removeAll(list: (kind: string) => Promise<Raw[]>, call: RealStage["call"]): Promise<void> {
  for (let round = 0; round < 50; round++) {
    let left = 0;
    for (const kind of kinds) {
      for (const object of await list(kind)) {
        const {
          name = "",
          namespace,
          finalizers,
        } = object["metadata"] as {
          name?: string;
          namespace?: string;
          finalizers?: string[];
        };
        if (name.startsWith("system-")) continue;
        if (kind !== "Event") left++;
        const path = objectPathOf(kind, namespace, name);
        if (finalizers?.length) await call("PATCH", path, { metadata: { finalizers: null } }, mergePatch);
        await call("DELETE", path, { gracePeriodSeconds: 0 });
      }
    }
    if (left === 0) return;
    await runtime.sleep(100);
  }
  throw new Error("the last scenario's objects do not go away");
}

async function applyOne(object: Raw, call: RealStage["call"], surely: Surely): Promise<void> {
  const kind = String(object["kind"]);
  const { name = "", namespace } = (object["metadata"] ?? {}) as { name?: string; namespace?: string };
  const path = objectPathOf(kind, namespace, name);
  const made = await call("POST", path.slice(0, path.lastIndexOf("/")), object);
  if (made.status === 409) await surely("PATCH", path, object, mergePatch);
  else if (made.status >= 300) throw new Error(`${kind} ${name}: ${JSON.stringify(made.body)}`);
}

async function bringUp(node: Raw, kubelets: boolean, surely: Surely): Promise<void> {
  const path = objectPathOf("Node", undefined, (node["metadata"] as { name: string }).name);
  // A new node is not ready until its kubelet says otherwise.
  const conditions = [
    {
      type: "Ready",
      status: "True",
      reason: "KubeletReady",
      message: "stand-in",
      lastHeartbeatTime: "2026-01-01T00:00:00Z",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ];
  const status = { conditions, ...(node["status"] as object | undefined) };
  if (kubelets) await surely("PATCH", `${path}/status`, { status }, mergePatch);
  // No controller here takes away the taint that it has.
  const { taints = null } = (node["spec"] ?? {}) as { taints?: unknown };
  await surely("PATCH", path, { spec: { taints } }, mergePatch);
}
