/** A sandbox on a virtual clock, and short words for what these tests put in it and read back. */

import type { Kinds, Plural } from "../../src/sandbox/objects.ts";
import { Sandbox, type SandboxOptions } from "../../src/sandbox/sandbox.ts";
import type { CycleRecord, SchedulerOptions } from "../../src/sandbox/scheduler/scheduler.ts";
import { type VirtualRuntime, virtualRuntime } from "../support/clock.ts";

export type Json = Readonly<Record<string, unknown>>;

export interface World {
  readonly sandbox: Sandbox;
  readonly runtime: VirtualRuntime;
  readonly cycles: CycleRecord[];
  apply(...objects: readonly Json[]): Promise<void>;
  get<P extends Plural>(plural: P, name: string): Promise<Kinds[P] | undefined>;
  list<P extends Plural>(plural: P): Promise<readonly Kinds[P][]>;
  patch(plural: Plural, name: string, patch: object): Promise<void>;
  remove(plural: Plural, name: string): Promise<void>;
  /** "Reason" of every event about the object, in order. */
  reasons(name: string): Promise<string[]>;
  /** Name of the node by name of the pod; "" while it has none. */
  placements(): Promise<Record<string, string>>;
}

type WorldOptions = Partial<Omit<SandboxOptions, "runtime" | "scheduler">> & {
  readonly scheduler?: false | Omit<SchedulerOptions, "extenders" | "onCycle">;
};

export function makeWorld(options: WorldOptions = {}): World {
  const runtime = virtualRuntime();
  const cycles: CycleRecord[] = [];
  const { scheduler = {}, ...others } = options;
  const own = scheduler && { ...scheduler, onCycle: (record: CycleRecord) => void cycles.push(record) };
  const sandbox = new Sandbox({ runtime, scheduler: own, ...others });
  const { client } = sandbox.startAgent("test");
  const namespace = "default";
  const list: World["list"] = async (plural) => {
    const listed = await client.list(plural);
    if (!listed.ok) throw new Error(listed.message);
    return listed.value.items;
  };
  return {
    sandbox,
    runtime,
    cycles,
    list,
    apply: async (...objects) => {
      await sandbox.apply(objects);
      await runtime.settle();
    },
    get: async (plural, name) => (await list(plural)).find(({ metadata }) => metadata.name === name),
    patch: async (plural, name, patch) => {
      const patched = await client.patch(plural, { namespace, name }, patch);
      if (!patched.ok) throw new Error(patched.message);
      await runtime.settle();
    },
    remove: async (plural, name) => {
      const deleted = await client.delete(plural, { namespace, name });
      if (!deleted.ok) throw new Error(deleted.message);
      await runtime.settle();
    },
    reasons: async (name) => {
      const events = (await list("events")) as unknown as { reason: string; involvedObject: { name: string } }[];
      return events.filter((event) => event.involvedObject.name === name).map(({ reason }) => reason);
    },
    placements: async () =>
      Object.fromEntries((await list("pods")).map(({ metadata, spec }) => [metadata.name, spec.nodeName ?? ""])),
  };
}

export function node(name: string, o: { labels?: Record<string, string>; cpu?: string; spec?: Json } = {}): Json {
  const allocatable = { cpu: o.cpu ?? "4", memory: "8Gi", pods: "110" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name, ...o.labels } },
    spec: o.spec ?? {},
    status: { allocatable, conditions: [{ type: "Ready", status: "True" }] },
  };
}

export function storageClass(name: string, o: { mode?: string; provisioner?: string } = {}): Json {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name },
    provisioner: o.provisioner ?? "kubernetes.io/no-provisioner",
    volumeBindingMode: o.mode ?? "WaitForFirstConsumer",
  };
}

interface VolumeFacts {
  readonly on?: string;
  readonly class?: string;
  readonly capacity?: string;
  readonly modes?: readonly string[];
  readonly spec?: Json;
  readonly annotations?: Json;
}

export function volume(name: string, o: VolumeFacts = {}): Json {
  const term = { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [o.on] }] };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name, annotations: o.annotations ?? {} },
    spec: {
      capacity: { storage: o.capacity ?? "10Gi" },
      accessModes: o.modes ?? ["ReadWriteOnce"],
      storageClassName: o.class ?? "wait",
      ...(o.on === undefined ? { hostPath: { path: `/mnt/${name}` } } : { local: { path: `/mnt/${name}` } }),
      ...(o.on === undefined ? {} : { nodeAffinity: { required: { nodeSelectorTerms: [term] } } }),
      ...o.spec,
    },
  };
}

export function claim(name: string, o: { class?: string; size?: string; spec?: Json; annotations?: Json } = {}): Json {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: "default", annotations: o.annotations ?? {} },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: o.class ?? "wait",
      resources: { requests: { storage: o.size ?? "5Gi" } },
      ...o.spec,
    },
  };
}

interface PodFacts {
  readonly claims?: readonly string[];
  readonly cpu?: string;
  readonly labels?: Record<string, string>;
  readonly spec?: Json;
}

export function pod(name: string, o: PodFacts = {}): Json {
  const volumes = (o.claims ?? []).map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels: o.labels ?? {} },
    spec: {
      schedulerName: "berth-scheduler",
      containers: [{ name: "app", image: "app", resources: o.cpu ? { requests: { cpu: o.cpu } } : {} }],
      volumes,
      ...o.spec,
    },
  };
}
