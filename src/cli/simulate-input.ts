/** What `berth simulate` makes of the objects in its files, and what it says of those that are wrong or not there. */
import { kindInfo, type Translator } from "../apis/kubernetes.ts";
import type { PodList } from "../cluster/pod-lists.ts";
import { type Kind, kinds, type Pod } from "../scheduling/objects.ts";
import { publishesCapacity } from "../scheduling/provisioning.ts";
import type { ClusterState } from "../scheduling/state.ts";
import type { PodSource } from "../server/placing.ts";
import { Misuse } from "./arguments.ts";
import type { Manifest } from "./manifests.ts";

const kindOf: ReadonlyMap<string, Kind> = new Map(kinds.map((kind) => [kindInfo[kind].kind, kind]));

/** Other groups have kinds of the same name, as Longhorn its Node. An object that does not say its group is taken at its kind. */
function kindOfObject(object: Manifest["object"]): Kind | undefined {
  const { kind: word, apiVersion } = object;
  const kind = kindOf.get(String(word));
  if (!kind || apiVersion === undefined) return kind;
  return groupOf(String(apiVersion)) === groupOf(kindInfo[kind].apiVersion) ? kind : undefined;
}

function groupOf(apiVersion: string): string {
  return apiVersion.slice(0, Math.max(0, apiVersion.indexOf("/")));
}

/** Fills the state; answers a warning for each object that could not be read or is there twice. Other kinds are passed over. */
export function loadState(state: ClusterState, manifests: readonly Manifest[], translator: Translator): string[] {
  const warnings: string[] = [];
  const places = new Map<string, string>();
  for (const { object, where } of manifests) {
    const kind = kindOfObject(object);
    if (!kind) continue;
    const { namespaced, kind: word } = kindInfo[kind];
    const metadata = filledMetadata(object, kind);
    const { name, namespace } = metadata;
    if (typeof name !== "string" || name === "") throw new Misuse(`${where}: ${word} without metadata.name`);
    const key = namespaced ? `${namespace}/${name}` : name;
    const earlier = places.get(`${word} ${key}`);
    if (earlier !== undefined) warnings.push(`${word} ${key} is in ${earlier} and in ${where}; the last one counts`);
    places.set(`${word} ${key}`, where);
    const read = translator.translate(kind, { ...object, metadata });
    if (read.ok) state.set(kind, read.key, read.object);
    else {
      const problem = `${read.field}: ${read.problem}`;
      state.setAside(kind, key, problem);
      warnings.push(`${where}: ${word} ${key} cannot be read: ${problem}`);
    }
  }
  state.listed();
  return warnings;
}

type Metadata = Readonly<Record<string, unknown>>;

/** With what the API server would fill in for an object that was never created. */
function filledMetadata(object: Manifest["object"], kind: Kind): Metadata {
  const metadata = (object["metadata"] ?? {}) as Metadata;
  const { name, uid } = metadata;
  if (!kindInfo[kind].namespaced) return { resourceVersion: "0", ...metadata, uid: uid ?? `${kind}/${name}` };
  const namespace = String(metadata["namespace"] ?? "default");
  return { resourceVersion: "0", ...metadata, uid: uid ?? `${kind}/${namespace}/${name}`, namespace };
}

/** The Pods of the files, as the API would list them. */
export function podSource(manifests: readonly Manifest[]): PodSource {
  const pods = manifests.flatMap(({ object }) => (kindOfObject(object) === "pod" ? [filledPod(object)] : []));
  const found = (suits: (pod: FilledPod) => boolean): Promise<PodList> =>
    Promise.resolve({ ok: true, pods: pods.filter(suits).map(({ raw }) => raw), isWhole: true });
  return {
    onNode: (node) => found((pod) => pod.nodeName === node),
    named: (namespace, name) => found((pod) => pod.namespace === namespace && pod.name === name),
  };
}

interface FilledPod {
  readonly raw: unknown;
  readonly namespace: unknown;
  readonly name: unknown;
  readonly nodeName: unknown;
}

function filledPod(object: Manifest["object"]): FilledPod {
  const metadata = filledMetadata(object, "pod");
  const { nodeName } = (object["spec"] ?? {}) as { readonly nodeName?: unknown };
  return { raw: { ...object, metadata }, namespace: metadata["namespace"], name: metadata["name"], nodeName };
}

/** No object of the kind is in the files, not even one that cannot be read. */
export function isAbsent(state: ClusterState, kind: Kind): boolean {
  return state.keys(kind).next().done === true;
}

/** Kinds that the answer hangs on and that were most likely not asked of kubectl, as a warning each. */
export function absentKinds(state: ClusterState, pod: Pod): string[] {
  const claims = pod.claims.flatMap(({ claim }) => state.get("claim", claim) ?? []);
  const classes = new Set(claims.filter((one) => !one.bindCompleted && one.class !== "").map((one) => one.class));
  if (classes.size === 0) return [];
  const absent = (kind: Kind): string =>
    `no ${kindInfo[kind].kind} in the files; add "kubectl get ${kindInfo[kind].plural} -A -o yaml"`;
  if (isAbsent(state, "class")) return [absent("class")];
  const asksCapacity = [...classes].some((name) => {
    const storageClass = state.get("class", name);
    return storageClass !== undefined && publishesCapacity(state, storageClass);
  });
  return asksCapacity && isAbsent(state, "capacity") ? [absent("capacity")] : [];
}
