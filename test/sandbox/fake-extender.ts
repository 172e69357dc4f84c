/**
 * Extenders for tests of the scheduler: one that answers what a test says, one that binds volumes as plainly as can be.
 *
 * Berth itself takes the place of the second by handing `Sandbox` the entries that name it.
 */
import type { Exchange, HttpRequest } from "../../src/runtime/runtime.ts";
import type { Agent } from "../../src/sandbox/agent.ts";
import { matchesNode } from "../../src/sandbox/match.ts";
import { claimsOf, isFullyBound, type Pod } from "../../src/sandbox/objects.ts";
import type { ExtenderEntry } from "../../src/sandbox/scheduler/extender.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies are JSON of the wire, and a test that reads wrongly fails
type Body = any;
/** What a verb answers: a JSON value, text as it is, a status alone, nothing ever, or no connection. */
export type Reply = object | string | number | "never" | Error;
export type Verbs = Readonly<Record<string, (body: Body) => Reply | Promise<Reply>>>;

export interface Call {
  readonly verb: string;
  readonly body: Body;
}

/** An exchange that answers each verb with its function, and keeps what it was sent. */
export function scripted(verbs: Verbs): { exchange: Exchange; calls: Call[] } {
  const calls: Call[] = [];
  const exchange: Exchange = async ({ path, body }: HttpRequest) => {
    const verb = path.split("/").at(-1) ?? "";
    const call = { verb, body: JSON.parse(String(body)) };
    calls.push(call);
    const reply = await verbs[verb]?.(call.body);
    if (reply === "never") return new Promise(() => {});
    if (reply instanceof Error) throw reply;
    if (typeof reply === "number") return { status: reply, headers: {}, body: "" };
    return { status: 200, headers: {}, body: typeof reply === "string" ? reply : JSON.stringify(reply) };
  };
  return { exchange, calls };
}

export const urlPrefix = "http://extender/v1";

/** One entry with a verb for each function given. */
export function extender(verbs: Verbs, o: Partial<ExtenderEntry> = {}): { entry: ExtenderEntry; calls: Call[] } {
  const { exchange, calls } = scripted(verbs);
  const names = ["filter", "prioritize", "bind", "preempt"].filter((verb) => verb in verbs);
  const verbFields = Object.fromEntries(names.map((verb) => [`${verb}Verb`, verb]));
  return { entry: { urlPrefix, nodeCacheCapable: true, exchange, ...verbFields, ...o }, calls };
}

export const passAll = ({ NodeNames }: Body): Reply => ({ NodeNames });

/** What Berth is for, in its plainest form: one claim at a time, first volume that fits, no promise to anybody. */
export class PlainVolumeBinder {
  readonly #agent: Agent;

  constructor(agent: Agent) {
    this.#agent = agent;
    for (const plural of ["nodes", "persistentvolumes", "persistentvolumeclaims"] as const) agent.informer(plural);
  }

  get entries(): ExtenderEntry[] {
    return [extender({ filter: (body) => this.#filter(body), bind: (body) => this.#bind(body) }).entry];
  }

  #filter({ Pod: asked, NodeNames }: { Pod: Pod; NodeNames: string[] }): Reply {
    const reasons = NodeNames.map((name): [string, string | undefined] => [name, this.#whyNot(asked, name)]);
    const refused = reasons.filter(([, reason]) => reason !== undefined);
    return {
      NodeNames: reasons.filter(([, reason]) => reason === undefined).map(([name]) => name),
      FailedAndUnresolvableNodes: Object.fromEntries(refused),
    };
  }

  #whyNot(asked: Pod, nodeName: string): string | undefined {
    const known = this.#agent.informer("nodes").get(nodeName);
    for (const { name } of claimsOf(asked)) {
      const wanted = this.#agent.informer("persistentvolumeclaims").get(`${asked.metadata.namespace}/${name}`);
      if (!wanted || !known) return "node(s) didn't find available persistent volumes to bind";
      if (!isFullyBound(wanted)) {
        if (!this.#find(nodeName)) return "node(s) didn't find available persistent volumes to bind";
        continue;
      }
      const bound = this.#agent.informer("persistentvolumes").get(wanted.spec.volumeName ?? "");
      const required = bound?.spec.nodeAffinity?.required;
      if (required && !matchesNode(required, known)) return "node(s) didn't match PersistentVolume's node affinity";
    }
    return undefined;
  }

  #find(nodeName: string) {
    const known = this.#agent.informer("nodes").get(nodeName);
    return [...this.#agent.informer("persistentvolumes").values()].find(({ spec, status }) => {
      const required = spec.nodeAffinity?.required;
      return !spec.claimRef && status?.phase === "Available" && known && required && matchesNode(required, known);
    });
  }

  async #bind({ PodName, PodNamespace, PodUID, Node }: Record<string, string>): Promise<Reply> {
    const { client, runtime } = this.#agent;
    const read = await client.get("pods", { namespace: PodNamespace ?? "", name: PodName ?? "" });
    if (!read.ok || read.value.metadata.uid !== PodUID) return { Error: "the pod is gone" };
    for (const { name } of claimsOf(read.value)) {
      const key = { namespace: PodNamespace ?? "", name };
      const wanted = await client.get("persistentvolumeclaims", key);
      if (!wanted.ok) return { Error: wanted.message };
      if (isFullyBound(wanted.value)) {
        // The filter may not have seen it: then it judged a claim that was open still.
        const node = this.#agent.informer("nodes").get(Node ?? "");
        const held = await client.get("persistentvolumes", { name: wanted.value.spec.volumeName ?? "" });
        const required = held.ok ? held.value.spec.nodeAffinity?.required : undefined;
        if (!held.ok || !node || (required && !matchesNode(required, node))) return { Error: "the claim is elsewhere" };
        continue;
      }
      const found = this.#find(Node ?? "");
      if (!found) return { Error: "no volume left" };
      const { uid } = wanted.value.metadata;
      const claimRef = { apiVersion: "v1", kind: "PersistentVolumeClaim", ...key, uid };
      const written = await client.update("persistentvolumes", { ...found, spec: { ...found.spec, claimRef } });
      if (!written.ok) return { Error: written.message };
      for (let bound = false; !bound; ) {
        await runtime.sleep(100);
        const now = await client.get("persistentvolumeclaims", key);
        bound = now.ok && isFullyBound(now.value);
      }
    }
    const bound = await client.bind(read.value, Node ?? "");
    return { Error: bound.ok ? "" : bound.message };
  }
}
