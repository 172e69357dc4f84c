/** The short forms of scenarios: what every object of a kind must say anyway is left out, the rest is merged in as it is. */
import type { Raw } from "./make.ts";

type Fields = Readonly<Record<string, unknown>>;
type ByName<T> = Readonly<Record<string, T>>;

/** Names of claims and Pods carry their namespace: `shop/cart`. */
export interface Given {
  /** Labels of each; the hostname label is its name unless given. `null` for none. */
  readonly nodes?: ByName<Fields | null>;
  /** CSI drivers, as in a SandboxConfiguration: `{capacity: {n1: 10Gi}, pollSeconds: 1}`. */
  readonly drivers?: ByName<Fields>;
  /** `wait` for static volumes that wait for the first consumer, `immediate` for static ones that do not, or a driver's name. */
  readonly classes?: ByName<string | Fields>;
  /** PersistentVolumes `{on: n1, class: local, size: 10Gi}`, by the hostname label or by the label (or `metadata.name`) in `by`. */
  readonly volumes?: ByName<Fields>;
  /** Local disks of a node, published again after they were used: `{node: n1, class: local, capacity: 10Gi}`. */
  readonly disks?: ByName<Fields>;
  /** `{class: local, size: 10Gi}` */
  readonly claims?: ByName<Fields>;
  /** `{claims: [data], on: n1, cpu: "1"}`; `prefers` a node with all the weight there is. */
  readonly pods?: ByName<Fields>;
}

const hostname = "kubernetes.io/hostname";

/** The objects in the order in which a cluster needs them. */
export function* objectsOf(given: Given): Generator<Raw> {
  const { nodes = {}, classes = {}, volumes = {}, claims = {}, pods = {}, drivers = {}, disks = {} } = given;
  const named = [...Object.keys(claims), ...Object.keys(pods)].map((key) => split(key).namespace);
  for (const name of new Set(named)) yield { apiVersion: "v1", kind: "Namespace", metadata: { name } };
  for (const [name, labels] of Object.entries(nodes)) yield node(name, labels ?? {});
  const sandbox = { drivers: withNames(drivers), disks: withNames(disks) };
  if (sandbox.drivers.length + sandbox.disks.length > 0) {
    yield { apiVersion: "berth.dev/v1alpha1", kind: "SandboxConfiguration", ...sandbox };
  }
  for (const [name, kind] of Object.entries(classes)) yield storageClass(name, kind);
  for (const [name, fields] of Object.entries(volumes)) yield volume(name, fields);
  for (const [key, fields] of Object.entries(claims)) yield claim(key, fields);
  for (const [key, fields] of Object.entries(pods)) yield pod(key, fields);
}

export function split(key: string): { namespace: string; name: string } {
  const [namespace = "", name] = key.split("/");
  if (!name) throw new Error(`"${key}" names no namespace`);
  return { namespace, name };
}

function withNames(all: ByName<Fields>): Fields[] {
  return Object.entries(all).map(([name, fields]) => ({ name, ...fields }));
}

function node(name: string, labels: Fields): Raw {
  const size = { cpu: "4", memory: "16Gi", pods: "110" };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { [hostname]: name, ...labels } },
    status: { allocatable: size, capacity: size },
  };
}

function storageClass(name: string, kind: string | Fields): Raw {
  const provisioner = typeof kind === "string" && kind.includes(".") ? kind : "kubernetes.io/no-provisioner";
  const volumeBindingMode = kind === "immediate" ? "Immediate" : "WaitForFirstConsumer";
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name },
    provisioner,
    volumeBindingMode,
    ...(typeof kind === "string" ? {} : kind),
  };
}

function volume(name: string, { on, by, class: storageClassName, size, labels, ...more }: Fields): Raw {
  const key = by ?? hostname;
  const requirement = { key, operator: "In", values: [on].flat() };
  const term = key === "metadata.name" ? { matchFields: [requirement] } : { matchExpressions: [requirement] };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name, labels: labels ?? {} },
    spec: {
      capacity: { storage: size },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Retain",
      storageClassName,
      local: { path: `/mnt/disks/${name}` },
      nodeAffinity: { required: { nodeSelectorTerms: [term] } },
      ...more,
    },
  };
}

function claim(key: string, { class: storageClassName, size, ...more }: Fields): Raw {
  const requests = { storage: size };
  const spec = { accessModes: ["ReadWriteOnce"], storageClassName, resources: { requests }, ...more };
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: split(key), spec };
}

function pod(key: string, { claims = [], on, prefers, cpu = "100m", ...more }: Fields): Raw {
  const named = (claims as string[]).map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  const wanted = { matchExpressions: [{ key: hostname, operator: "In", values: [prefers] }] };
  const preferred = [{ weight: 100, preference: wanted }];
  const requests = { cpu, memory: "64Mi" };
  const spec = {
    schedulerName: "berth-scheduler",
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: "registry.example.com/main:1", resources: { requests } }],
    ...(on === undefined ? {} : { nodeSelector: { [hostname]: on } }),
    ...(prefers === undefined
      ? {}
      : { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } } }),
    volumes: named,
    ...more,
  };
  return { apiVersion: "v1", kind: "Pod", metadata: split(key), spec };
}
