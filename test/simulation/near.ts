/** What a call or a write of a Berth is about: the Pod, its claims and their volumes, so that what happens then can hit just those. */
import type { HttpRequest } from "../../src/runtime/runtime.ts";
import type { Body } from "../binding/world.ts";
import { claimsOf } from "./cluster.ts";
import { keyOf } from "./picks.ts";
import type { Plural, Server } from "./server.ts";

/** Keys of objects, by kind; of other kinds all are near. */
export type Near = ReadonlyMap<Plural, ReadonlySet<string>>;

/** @param request  a bind call, or a claimRef, release, selected-node or Binding that a Berth writes */
export function nearTo(server: Server, request: HttpRequest): Near {
  const pods = new Set<string>();
  const claims = new Set<string>();
  const volumes = new Set<string>();
  const [, volume] = /\/persistentvolumes\/([^/]+)$/.exec(request.path) ?? [];
  const [, claim] = /\/namespaces\/([^/]+\/persistentvolumeclaims\/[^/]+)$/.exec(request.path) ?? [];
  const [, pod] = /\/namespaces\/([^/]+\/pods\/[^/]+)\/binding$/.exec(request.path) ?? [];
  if (volume !== undefined) {
    volumes.add(volume);
    addRef(JSON.parse(String(request.body)).spec?.claimRef ?? server.get("persistentvolumes", volume)?.spec.claimRef);
  }
  if (claim !== undefined) claims.add(claim.replace("persistentvolumeclaims/", ""));
  if (pod !== undefined) pods.add(pod.replace("pods/", ""));
  if (request.path.endsWith("/bind")) {
    const { PodNamespace, PodName } = JSON.parse(String(request.body));
    pods.add(`${PodNamespace}/${PodName}`);
  }
  for (const other of server.all("pods")) {
    if (claimsOf(other).some((key) => claims.has(key))) pods.add(keyOf(other));
  }
  for (const key of pods) for (const mounted of claimsOf(server.get("pods", key) ?? noPod)) claims.add(mounted);
  for (const { metadata, spec } of server.all("persistentvolumes")) {
    if (spec.claimRef && claims.has(`${spec.claimRef.namespace}/${spec.claimRef.name}`)) volumes.add(metadata.name);
  }
  return new Map([
    ["pods", pods],
    ["persistentvolumeclaims", claims],
    ["persistentvolumes", volumes],
  ]);

  function addRef(claimRef: Body): void {
    if (claimRef?.name !== undefined) claims.add(`${claimRef.namespace}/${claimRef.name}`);
  }
}

const noPod = { metadata: {}, spec: {} };
