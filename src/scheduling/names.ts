/** Names of Kubernetes objects, one type a kind, so that a node's name can never be passed for a volume's. */

declare const kind: unique symbol;
type Name<K extends string> = string & { readonly [kind]: K };

export type NodeName = Name<"node">;
export type VolumeName = Name<"volume">;
export type ClassName = Name<"class">;
/** "namespace/name" of a PersistentVolumeClaim. */
export type ClaimKey = Name<"claim">;
/** "namespace/name" of a Pod. */
export type PodKey = Name<"pod">;
/** "namespace/name" of a CSIStorageCapacity. */
export type CapacityKey = Name<"capacity">;
export type PodUid = Name<"pod uid">;
export type ClaimUid = Name<"claim uid">;

export const nodeName = (text: string): NodeName => text as NodeName;
export const volumeName = (text: string): VolumeName => text as VolumeName;
export const className = (text: string): ClassName => text as ClassName;
export const podUid = (text: string): PodUid => text as PodUid;
export const claimUid = (text: string): ClaimUid => text as ClaimUid;
export const claimKey = (namespace: string, name: string): ClaimKey => `${namespace}/${name}` as ClaimKey;
export const podKey = (namespace: string, name: string): PodKey => `${namespace}/${name}` as PodKey;
export const capacityKey = (namespace: string, name: string): CapacityKey => `${namespace}/${name}` as CapacityKey;

/** The two halves of a "namespace/name" key. Neither half can hold a slash. */
export function splitKey(key: ClaimKey | PodKey | CapacityKey): { namespace: string; name: string } {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Byte order, the same on every machine and in every locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
