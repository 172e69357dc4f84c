/**
 * The pure core as a stage for scenarios: no API server, no time, nobody else at work. Objects go through the same translation
 * as in production. A Pod is decided when it is created, and again when somebody looks: the best node of the first that fit gets
 * it, and its plan is carried out at once. What takes a controller, a race or another plugin of kube-scheduler ends the scenario
 * with `BeyondCore`.
 */
import { Translator } from "../../src/apis/kubernetes.ts";
import { type Config, defaults } from "../../src/config.ts";
import { isSandboxConfiguration, parseSandboxConfiguration } from "../../src/sandbox/configuration.ts";
import { filterNodes } from "../../src/scheduling/filter.ts";
import { type NodeName, nodeName } from "../../src/scheduling/names.ts";
import type { Kind } from "../../src/scheduling/objects.ts";
import type { NodeVerdicts, Plan } from "../../src/scheduling/plan.ts";
import { scoreNodes } from "../../src/scheduling/score.ts";
import type { ClusterState } from "../../src/scheduling/state.ts";
import { nodeAnnotations, stateFor } from "../../src/server/berth.ts";
import { BeyondCore, CorePools } from "./core-pools.ts";
import type { Raw } from "./make.ts";
import type { Stage } from "./scenario.ts";

const kindOf: ReadonlyMap<string, Kind> = new Map([
  ["Node", "node"],
  ["PersistentVolume", "volume"],
  ["PersistentVolumeClaim", "claim"],
  ["StorageClass", "class"],
  ["CSIDriver", "driver"],
  ["CSINode", "csiNode"],
  ["CSIStorageCapacity", "capacity"],
]);
const unread = ["Namespace", "Pod", "VolumeAttributesClass"];

interface PodRaw {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly spec: {
    readonly schedulerName?: string;
    readonly nodeName?: string;
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly affinity?: unknown;
    readonly volumes?: readonly { readonly name: string; readonly ephemeral?: unknown }[];
  };
}

interface NodeRaw {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly unschedulable?: boolean; readonly taints?: readonly { readonly effect: string }[] };
}

export class CoreStage implements Stage {
  readonly #objects = new Map<string, Raw>();
  readonly #state: ClusterState;
  readonly #translator: Translator;
  readonly #pools: CorePools;
  #count = 0;
  #now = 0;

  constructor(config: Config = defaults) {
    this.#state = stateFor({ now: () => this.#now }, config);
    this.#translator = new Translator({ nodeAnnotations: nodeAnnotations(config) });
    this.#pools = new CorePools((object) => this.#set(object));
  }

  async apply(object: Raw): Promise<void> {
    if (isSandboxConfiguration(object)) {
      const { drivers, disks } = parseSandboxConfiguration(object);
      for (const driver of drivers) this.#pools.add(driver);
      for (const disk of disks) this.#set(this.#pools.volumeOf(disk));
    } else this.#set(object);
    if (object["kind"] === "PersistentVolumeClaim") this.#checkClaim(object);
    this.#pools.publish(this.#all("Node"), this.#all("StorageClass"));
    if (object["kind"] === "Pod") this.#decideAll();
  }

  async delete(kind: string, namespace: string | undefined, name: string): Promise<void> {
    const key = namespace === undefined ? name : `${namespace}/${name}`;
    const object = this.#objects.get(`${kind} ${key}`);
    if (!object) throw new Error(`there is no ${kind} ${key}`);
    const { finalizers } = object["metadata"] as { finalizers?: unknown };
    const { claimRef, volumeName } = (object["spec"] ?? {}) as { claimRef?: unknown; volumeName?: unknown };
    if (claimRef ?? volumeName) throw new BeyondCore("what becomes of a volume given back is for controllers");
    if (finalizers) {
      this.#set(merged(object, { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }) as Raw);
      return;
    }
    this.#objects.delete(`${kind} ${key}`);
    const known = kindOf.get(kind);
    if (known) this.#state.delete(known, key);
  }

  async patch(kind: string, namespace: string | undefined, name: string, merge: unknown): Promise<void> {
    const key = namespace === undefined ? name : `${namespace}/${name}`;
    const object = this.#objects.get(`${kind} ${key}`);
    if (!object) throw new Error(`there is no ${kind} ${key}`);
    this.#set(merged(object, merge) as Raw);
  }

  async list(kind: string): Promise<readonly Raw[]> {
    this.#decideAll();
    if (kind !== "Event") return this.#all(kind);
    return this.#all("Pod").map((raw) => {
      const { metadata, spec } = raw as unknown as PodRaw;
      if (!spec.nodeName) throw new BeyondCore("the core tells nobody why a Pod waits");
      const message = `Successfully assigned ${metadata.namespace}/${metadata.name} to ${spec.nodeName}`;
      return { involvedObject: metadata, reason: "Scheduled", message };
    });
  }

  async pause(): Promise<void> {
    throw new BeyondCore("a bind takes time, and the core knows none");
  }

  async resume(): Promise<void> {}

  async restart(): Promise<void> {
    throw new BeyondCore("a bind takes time, and the core knows none");
  }

  async pass(ms: number): Promise<void> {
    this.#now += ms;
  }

  #all(kind: string): Raw[] {
    return [...this.#objects].flatMap(([key, object]) => (key.startsWith(`${kind} `) ? [object] : []));
  }

  /** As the API server takes it: with a uid, a version, and the phase that is seen first. */
  #set(object: Raw): void {
    const kind = String(object["kind"]);
    if (kind === "StatefulSet") throw new BeyondCore("a controller makes the Pods and their claims");
    if (kind === "PriorityClass") throw new BeyondCore("preemption is kube-scheduler's");
    const known = kindOf.get(kind);
    if (!known && !unread.includes(kind)) throw new Error(`the core's stage has no kind ${kind}`);
    const metadata = object["metadata"] as { name: string; namespace?: string; uid?: string };
    const isNamespaced = ["Pod", "PersistentVolumeClaim", "CSIStorageCapacity"].includes(kind);
    const namespace = isNamespaced ? (metadata.namespace ?? "default") : undefined;
    const key = namespace === undefined ? metadata.name : `${namespace}/${metadata.name}`;
    const phase = { PersistentVolume: "Available", PersistentVolumeClaim: "Pending" }[kind];
    const born = {
      ...object,
      metadata: {
        creationTimestamp: new Date(Date.UTC(2026, 0, 1) + this.#now).toISOString(),
        ...metadata,
        ...(namespace !== undefined && { namespace }),
        uid: metadata.uid ?? `uid-${++this.#count}`,
        resourceVersion: String(++this.#count),
      },
      ...(phase !== undefined && { status: { phase, ...(object["status"] as object | undefined) } }),
    };
    this.#objects.set(`${kind} ${key}`, born);
    if (!known) return;
    const read = this.#translator.translate(known, born);
    if (read.ok) this.#state.set(known, read.key, read.object);
    else throw new Error(`${kind} ${key}: ${read.field}: ${read.problem}`);
  }

  /** A claim that the PV controller has its own way with, before any Pod comes. */
  #checkClaim(claim: Raw): void {
    const { volumeName, storageClassName } = claim["spec"] as { volumeName?: string; storageClassName?: string };
    const isImmediate = (this.#classOf(claim)?.["volumeBindingMode"] ?? "WaitForFirstConsumer") === "Immediate";
    if (volumeName !== undefined || storageClassName === "" || isImmediate)
      throw new BeyondCore("the PV controller binds the claim on its own");
  }

  #decideAll(): void {
    for (const raw of this.#all("Pod")) {
      const { spec } = raw as unknown as PodRaw;
      if (!spec.nodeName && spec.schedulerName === "berth-scheduler") this.#decide(raw);
    }
  }

  #decide(raw: Raw): void {
    const { spec } = raw as unknown as PodRaw;
    if (spec.affinity !== undefined) throw new BeyondCore("affinity among Pods and nodes is kube-scheduler's");
    this.#checkClaims(raw);
    const read = this.#translator.translate("pod", raw);
    if (!read.ok) throw new Error(`${read.field}: ${read.problem}`);
    const nodes = this.#all("Node") as unknown as NodeRaw[];
    const refusedBy = new Map(nodes.map((node) => [node.metadata.name, kubernetesRefuses(spec, node)]));
    const offered = [...refusedBy].flatMap(([name, why]) => (why === undefined ? [nodeName(name)] : []));
    const verdict = filterNodes(this.#state, read.object, offered);
    if (verdict.kind === "fault") throw new Error(`fault: ${verdict.problem}`);
    if (verdict.kind === "refused") {
      this.#refuse(raw, [...offered.map(() => verdict.text), ...given(refusedBy)]);
      return;
    }
    const first = verdict.kind === "free" ? offered[0] : bestOf(verdict.nodes);
    const { kind } = verdict;
    if (first !== undefined) {
      const plan = kind === "judged" ? planOn(verdict.nodes, first) : undefined;
      for (const planned of plan?.claims ?? []) this.#carryOut(planned, first);
      this.#set(merged(raw, { spec: { nodeName: first }, status: null }) as Raw);
      return;
    }
    const texts = kind === "judged" ? verdict.nodes.names.map((_, index) => verdict.nodes.text(index)) : [];
    this.#refuse(raw, [...texts, ...given(refusedBy)]);
  }

  #classOf(claim: Raw): Raw | undefined {
    const { annotations } = claim["metadata"] as { annotations?: Readonly<Record<string, string>> };
    const { storageClassName } = claim["spec"] as { storageClassName?: string };
    const name = annotations?.["volume.beta.kubernetes.io/storage-class"] ?? storageClassName;
    return this.#objects.get(`StorageClass ${name}`);
  }

  /** What other plugins, or controllers, see to before Berth is asked. */
  #checkClaims(raw: Raw): void {
    const { metadata, spec } = raw as unknown as PodRaw;
    for (const volume of spec.volumes ?? []) {
      const { persistentVolumeClaim, ephemeral } = volume as {
        persistentVolumeClaim?: { claimName: string };
      } & typeof volume;
      if (ephemeral !== undefined) throw new BeyondCore("a controller makes the claim of an ephemeral volume");
      const claim = this.#objects.get(
        `PersistentVolumeClaim ${metadata.namespace}/${persistentVolumeClaim?.claimName}`,
      );
      if (!claim) throw new BeyondCore("kube-scheduler itself misses a claim, or its class");
      if (!this.#classOf(claim)) throw new BeyondCore("kube-scheduler itself misses a claim, or its class");
    }
  }

  /** @param texts  one a node */
  #refuse(raw: Raw, texts: readonly string[]): void {
    const counts = Map.groupBy(texts, (text) => text);
    const counted = [...counts].map(([text, { length }]) => `${length} ${text}`).sort();
    const total = `0/${texts.length} nodes are available`;
    const preemption = `0/${texts.length} nodes are available: ${texts.length} Preemption is not helpful for scheduling.`;
    const message = `${total}: ${counted.join(", ")}. no new claims to deallocate, preemption: ${preemption}`;
    this.#set({ ...raw, status: { conditions: [{ type: "PodScheduled", status: "False", message }] } });
  }

  #carryOut(planned: Plan["claims"][number], node: NodeName): void {
    if (planned.kind === "bound") return;
    const claim = this.#objects.get(`PersistentVolumeClaim ${planned.claim.key}`);
    if (!claim) throw new Error(`no claim ${planned.claim.key}`);
    const { name, namespace, uid } = claim["metadata"] as Record<string, string>;
    const claimRef = { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid };
    const made =
      planned.kind === "provision"
        ? this.#pools.provision({
            claim,
            claimRef,
            className: planned.class.name,
            bytes: planned.bytes,
            on: this.#node(node),
          })
        : this.#objects.get(`PersistentVolume ${planned.volume.name}`);
    if (!made) throw new Error("the plan names a volume that is not there");
    this.#set(merged(made, { spec: { claimRef }, status: { phase: "Bound" } }) as Raw);
    const volumeName = (made["metadata"] as { name: string }).name;
    const annotations = { "pv.kubernetes.io/bind-completed": "yes" };
    this.#set(merged(claim, { metadata: { annotations }, spec: { volumeName }, status: { phase: "Bound" } }) as Raw);
    this.#pools.publish(this.#all("Node"), this.#all("StorageClass"));
  }

  #node(name: string): Raw {
    return this.#objects.get(`Node ${name}`) ?? {};
  }
}

/** Why kube-scheduler does not offer the node, in its words. */
function kubernetesRefuses({ nodeSelector = {} }: PodRaw["spec"], { metadata, spec }: NodeRaw): string | undefined {
  if (spec?.unschedulable) return "node(s) were unschedulable";
  if (spec?.taints?.some(({ effect }) => effect !== "PreferNoSchedule")) return "node(s) had untolerated taint(s)";
  const isSelected = Object.entries(nodeSelector).every(([key, value]) => metadata.labels?.[key] === value);
  return isSelected ? undefined : "node(s) didn't match Pod's node affinity/selector";
}

const given = (refusals: ReadonlyMap<string, string | undefined>): string[] =>
  [...refusals.values()].flatMap((why) => why ?? []);

/** The first of those with the highest score. */
function bestOf(verdicts: NodeVerdicts): NodeName | undefined {
  const scores = new Map(scoreNodes(verdicts).map(({ node, score }) => [node, score]));
  const fitting = verdicts.names.filter((_, index) => verdicts.fits(index));
  return fitting.sort((a, b) => (scores.get(b) ?? 0) - (scores.get(a) ?? 0))[0];
}

function planOn(verdicts: NodeVerdicts, node: NodeName): Plan {
  const verdict = verdicts.verdict(verdicts.names.indexOf(node));
  if (!verdict.fits) throw new Error(`${node} fits, and yet there is no plan`);
  return verdict.plan;
}

/** RFC 7396. */
function merged(onto: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const base = typeof onto === "object" && onto !== null && !Array.isArray(onto) ? onto : {};
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}
