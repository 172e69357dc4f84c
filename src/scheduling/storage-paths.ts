/** Volumes of one node that lie on one file system. */
import { compareText, type NodeName } from "./names.ts";
import type { Volume } from "./objects.ts";
import { type Bytes, formatBytes, subtractBytes } from "./quantity.ts";
import type { ClusterState } from "./state.ts";
import type { StorageFinding } from "./storage-findings.ts";

/** Findings of one node; what is beyond is like these. */
const ofNodeMax = 5;

/** @param rootBytes  the size of each node's root file system, where it is known */
export function pathFindings(
  state: ClusterState,
  volumes: readonly Volume[],
  rootBytes: ReadonlyMap<NodeName, Bytes>,
): StorageFinding[] {
  const byNode = new Map<NodeName, Volume[]>();
  for (const volume of volumes) {
    const id = state.volumes.id(volume.name);
    if (id === undefined || volume.path === undefined || state.disks.of(id)?.kind === "sharedFilesystem") continue;
    const members = state.volumes.topologyOf(id)?.members;
    const [entry] = members?.size === 1 ? [...members] : [];
    if (!entry) continue;
    const { name } = entry.node;
    const here = byNode.get(name);
    if (here) here.push(volume);
    else byNode.set(name, [volume]);
  }
  const nodes = [...byNode].sort(([a], [b]) => compareText(a, b));
  return nodes.flatMap(([node, its]) => [
    ...sharedPaths(node, its).slice(0, ofNodeMax),
    ...onRoot(node, its, rootBytes.get(node)),
  ]);
}

function sharedPaths(node: NodeName, volumes: readonly Volume[]): StorageFinding[] {
  const placed = volumes
    .map(({ name, path = "" }) => ({ name, path: `${path.replace(/\/+/g, "/").replace(/\/$/, "")}/` }))
    .sort((a, b) => compareText(a.path, b.path) || compareText(a.name, b.name));
  const findings: StorageFinding[] = [];
  // Whatever lies within a path comes right behind it.
  let outer: (typeof placed)[number] | undefined;
  for (const one of placed) {
    if (!outer || !one.path.startsWith(outer.path)) {
      outer = one;
      continue;
    }
    const how =
      one.path === outer.path ? `both are ${shown(one.path)}` : `${shown(one.path)} is within ${shown(outer.path)}`;
    findings.push({
      id: "path-shared",
      object: `Node ${node}`,
      detail: `volumes ${outer.name} and ${one.name}: ${how}`,
    });
  }
  return findings;
}

function shown(path: string): string {
  return path === "/" ? path : path.slice(0, -1);
}

function onRoot(node: NodeName, volumes: readonly Volume[], root: Bytes | undefined): StorageFinding[] {
  if (root === undefined || root === 0n) return [];
  const alike = volumes.filter(({ capacity }) => areAlike(capacity, root));
  if (alike.length < 2) return [];
  const names = alike.slice(0, ofNodeMax).map(({ name }) => name);
  const more = alike.length > ofNodeMax ? ", …" : "";
  const detail = `${alike.length} volumes (${names.join(", ")}${more}) of ${formatBytes(root)}`;
  return [{ id: "file-system-shared", object: `Node ${node}`, detail }];
}

/** Within a hundredth: file systems and kubelet count what they keep for themselves differently. */
function areAlike(one: Bytes, other: Bytes): boolean {
  const apart = subtractBytes(one, other);
  return (apart < 0n ? -apart : apart) * 100n <= other;
}
