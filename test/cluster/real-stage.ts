/** A real control plane as a stage for scenarios. The sandbox's kubelet and CSI stand-ins work against it: they know the API alone. */
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import { Agent } from "../../src/sandbox/agent.ts";
import { isSandboxConfiguration, parseSandboxConfiguration } from "../../src/sandbox/configuration.ts";
import { startKubelet } from "../../src/sandbox/kubelet.ts";
import { startLocalDisks } from "../../src/sandbox/local-disks.ts";
import { Provisioner } from "../../src/sandbox/provisioner.ts";
import type { Raw } from "../support/make.ts";
import { listPathOf, objectPathOf } from "../support/paths.ts";
import type { Stage } from "../support/scenario.ts";
import type { ControlPlane } from "./control-plane.ts";

export interface RealStage extends Stage {
  call(method: string, path: string, body?: unknown, type?: string): Promise<{ status: number; body: unknown }>;
  stop(): void;
}

export function realStage({ exchange }: ControlPlane): RealStage {
  const agents: Agent[] = [];
  const agent = (who: string): Agent => {
    const made = new Agent({ who, exchange, runtime });
    agents.push(made);
    return made;
  };
  startKubelet(agent("kubelet"));

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
  const surely = async (method: string, path: string, body?: unknown, type?: string): Promise<unknown> => {
    const reply = await call(method, path, body, type);
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
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
    },
    delete: async (kind, namespace, name) => void (await surely("DELETE", objectPathOf(kind, namespace, name))),
    patch: async (kind, namespace, name, merge) =>
      void (await surely("PATCH", objectPathOf(kind, namespace, name), merge, "application/merge-patch+json")),
    list: async (kind) => ((await surely("GET", listPathOf(kind))) as { items: Raw[] }).items,
    pass: (ms) => runtime.sleep(ms),
    stop: () => {
      for (const one of agents) one.stop();
    },
  };
}

async function applyOne(
  object: Raw,
  call: RealStage["call"],
  surely: (method: string, path: string, body?: unknown, type?: string) => Promise<unknown>,
): Promise<void> {
  const kind = String(object["kind"]);
  const { name = "", namespace } = (object["metadata"] ?? {}) as { name?: string; namespace?: string };
  const path = objectPathOf(kind, namespace, name);
  const made = await call("POST", path.slice(0, path.lastIndexOf("/")), object);
  if (made.status === 409) await surely("PATCH", path, object, "application/merge-patch+json");
  else if (made.status >= 300) throw new Error(`${kind} ${name}: ${JSON.stringify(made.body)}`);
  if (kind !== "Node") return;
  // A new node is tainted and has no status until its kubelet says otherwise.
  await surely("PATCH", path, { spec: { taints: null } }, "application/merge-patch+json");
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
  const status = { ...(object["status"] as object | undefined), conditions };
  await surely("PATCH", `${path}/status`, { status }, "application/merge-patch+json");
}
