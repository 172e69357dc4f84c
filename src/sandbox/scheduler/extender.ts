/** kube-scheduler's client of an extender, in its exact wire format. Source: pkg/scheduler/extender.go. */
import type { Exchange, HttpReply, Milliseconds, Runtime } from "../../runtime/runtime.ts";
import { textOf } from "../client.ts";
import type { Pod } from "../objects.ts";
import {
  decodeBindError,
  decodeFilterReply,
  decodePreemption,
  decodePriorities,
  type HostScore,
  type MetaVictims,
} from "./decode.ts";
import type { NodeState } from "./snapshot.ts";

/** One entry of `extenders` in a KubeSchedulerConfiguration, with the way to reach it. */
export interface ExtenderEntry {
  /** Its path is put before the verbs; the rest names the extender in messages. */
  readonly urlPrefix: string;
  readonly filterVerb?: string;
  readonly prioritizeVerb?: string;
  readonly bindVerb?: string;
  readonly preemptVerb?: string;
  /** 1 unless given. */
  readonly weight?: number;
  /** Send names only, not whole nodes. */
  readonly nodeCacheCapable?: boolean;
  readonly ignorable?: boolean;
  /** For every verb of the entry; 5 s unless given. */
  readonly httpTimeoutMs?: Milliseconds;
  /** Extended resources; the extender is asked about pods alone that want one. About all pods unless given. */
  readonly managedResources?: readonly string[];
  readonly exchange: Exchange;
}

/** What an extender's answer came to; an error has the text that ends up in the pod's condition. */
export type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: string };

export interface Filtered {
  readonly feasible: readonly NodeState[];
  readonly failed: ReadonlyMap<string, string>;
  readonly unresolvable: ReadonlyMap<string, string>;
}

export interface Victims {
  readonly pods: readonly Pod[];
  readonly pdbViolations: number;
}

const httpTimeoutMs: Milliseconds = 5_000;

export class Extender {
  readonly entry: ExtenderEntry;
  readonly #runtime: Runtime;
  readonly #signal: AbortSignal;

  constructor(entry: ExtenderEntry, runtime: Runtime, signal: AbortSignal) {
    this.entry = entry;
    this.#runtime = runtime;
    this.#signal = signal;
  }

  get isIgnorable(): boolean {
    return this.entry.ignorable === true;
  }

  get weight(): number {
    return this.entry.weight ?? 1;
  }

  isInterestedIn({ spec }: Pod): boolean {
    const managed = this.entry.managedResources ?? [];
    if (managed.length === 0) return true;
    return [...(spec.containers ?? []), ...(spec.initContainers ?? [])].some(({ resources }) =>
      managed.some((name) => resources?.requests?.[name] !== undefined || resources?.limits?.[name] !== undefined),
    );
  }

  async filter(pod: Pod, states: readonly NodeState[]): Promise<Answer<Filtered>> {
    const { filterVerb, urlPrefix, nodeCacheCapable } = this.entry;
    if (!filterVerb) return { ok: true, value: { feasible: states, failed: new Map(), unresolvable: new Map() } };
    const answer = await this.#post(filterVerb, this.#args(pod, states), decodeFilterReply);
    if (!answer.ok) return answer;
    const { nodeNames, nodes, failed, unresolvable, error } = answer.value;
    if (error !== "") return { ok: false, error };
    const byName = new Map(states.map((state) => [state.node.metadata.name, state]));
    const feasible: NodeState[] = [];
    for (const name of (nodeCacheCapable ? nodeNames : undefined) ?? nodes ?? []) {
      const state = byName.get(name);
      if (!state) {
        const why = `claims a filtered node "${name}" which is not found in the input node list`;
        return { ok: false, error: `extender "${urlPrefix}" ${why}` };
      }
      feasible.push(state);
    }
    return { ok: true, value: { feasible, failed, unresolvable } };
  }

  async prioritize(pod: Pod, states: readonly NodeState[]): Promise<Answer<HostScore[]>> {
    const { prioritizeVerb } = this.entry;
    if (!prioritizeVerb) return { ok: true, value: [] };
    return this.#post(prioritizeVerb, this.#args(pod, states), decodePriorities);
  }

  #args(pod: Pod, states: readonly NodeState[]): object {
    if (this.entry.nodeCacheCapable) {
      return { Pod: pod, Nodes: null, NodeNames: states.map(({ node }) => node.metadata.name) };
    }
    return { Pod: pod, Nodes: { metadata: {}, items: states.map(({ node }) => node) }, NodeNames: null };
  }

  async preempt(pod: Pod, victims: ReadonlyMap<string, Victims>): Promise<Answer<Map<string, MetaVictims>>> {
    const { preemptVerb, nodeCacheCapable } = this.entry;
    if (!preemptVerb) return { ok: true, value: new Map() };
    const entries = [...victims].map(([node, { pods, pdbViolations }]) => {
      const sent = nodeCacheCapable ? pods.map(({ metadata }) => ({ UID: metadata.uid })) : pods;
      return [node, { Pods: sent, NumPDBViolations: pdbViolations }];
    });
    const byName = Object.fromEntries(entries) as object;
    const args = nodeCacheCapable
      ? { Pod: pod, NodeNameToVictims: null, NodeNameToMetaVictims: byName }
      : { Pod: pod, NodeNameToVictims: byName, NodeNameToMetaVictims: null };
    return this.#post(preemptVerb, args, decodePreemption);
  }

  async bind({ metadata }: Pod, node: string): Promise<Answer<undefined>> {
    const { name, namespace = "", uid } = metadata;
    const args = { PodName: name, PodNamespace: namespace, PodUID: uid, Node: node };
    const answer = await this.#post(this.entry.bindVerb ?? "", args, decodeBindError);
    if (!answer.ok) return answer;
    return answer.value === "" ? { ok: true, value: undefined } : { ok: false, error: answer.value };
  }

  async #post<T>(verb: string, args: object, decode: (text: string) => T): Promise<Answer<T>> {
    const url = `${this.entry.urlPrefix.replace(/\/+$/, "")}/${verb}`;
    const reply = await this.#exchange(url, JSON.stringify(args));
    if (typeof reply === "string") return { ok: false, error: `Post "${url}": ${reply}` };
    if (reply.status !== 200) {
      return { ok: false, error: `failed ${verb} with extender at URL ${url}, code ${reply.status}` };
    }
    try {
      return { ok: true, value: decode(await textOf(reply.body)) };
    } catch (error) {
      return { ok: false, error: error instanceof Error ? error.message : String(error) };
    }
  }

  /** The reply, or why there is none. Nothing but the entry's timeout ever ends a call early. */
  #exchange(url: string, body: string): Promise<HttpReply | string> {
    const controller = new AbortController();
    const { promise, resolve } = Promise.withResolvers<HttpReply | string>();
    const finish = (outcome: HttpReply | string): void => {
      timer.cancel();
      this.#signal.removeEventListener("abort", stop);
      resolve(outcome);
    };
    const abort = (why: string): void => {
      controller.abort();
      finish(why);
    };
    const stop = (): void => abort("context canceled");
    const timer = this.#runtime.timer(this.entry.httpTimeoutMs ?? httpTimeoutMs, () =>
      abort("context deadline exceeded (Client.Timeout exceeded while awaiting headers)"),
    );
    this.#signal.addEventListener("abort", stop, { once: true });
    const request = {
      method: "POST",
      path: new URL(url).pathname,
      headers: { "content-type": "application/json" },
      body,
    };
    this.entry.exchange(request, controller.signal).then(finish, (fault: unknown) => {
      finish(fault instanceof Error ? fault.message : String(fault));
    });
    return promise;
  }
}
