/** The auditor finds what it says that it finds: each finding once, in a cluster that is well but for one thing. */
import { expect, test } from "vitest";
import { audit } from "./support/auditor.ts";

// biome-ignore lint/suspicious/noExplicitAny: API objects are JSON of every shape
type Body = any;

interface Cluster {
  readonly volumes: Body[];
  readonly claims: Body[];
  readonly pods: Body[];
}

const done = { "pv.kubernetes.io/bind-completed": "yes" };
const named = (all: Body[], name: string): Body => all.find(({ metadata }) => metadata.name === name);

/** Pod "p" on n1 with claims a and b, bound to disks of n1; disk c of n2 is free, and Pod "q" waits with claims x and y. */
function well(): Cluster {
  const disk = (name: string, node: string, claim?: string): Body => ({
    metadata: { name },
    spec: {
      nodeAffinity: {
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "host", operator: "In", values: [node] }] }] },
      },
      ...(claim && { claimRef: { namespace: "shop", name: claim, uid: `uid-${claim}` } }),
    },
    status: { phase: claim ? "Bound" : "Available" },
  });
  const claim = (name: string, volumeName?: string): Body => ({
    metadata: { namespace: "shop", name, uid: `uid-${name}`, ...(volumeName && { annotations: done }) },
    spec: { storageClassName: "local", ...(volumeName && { volumeName }) },
  });
  const pod = (name: string, claims: readonly string[], nodeName?: string): Body => ({
    metadata: { namespace: "shop", name },
    spec: {
      ...(nodeName && { nodeName }),
      volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
    },
  });
  return {
    volumes: [disk("da", "n1", "a"), disk("db", "n1", "b"), disk("dc", "n2"), disk("dx", "n2"), disk("dy", "n1")],
    claims: [claim("a", "da"), claim("b", "db"), claim("x"), claim("y")],
    pods: [pod("p", ["a", "b"], "n1"), pod("q", ["x", "y"])],
  };
}

async function found({ volumes, claims, pods }: Cluster): Promise<string[]> {
  const nodes = ["n1", "n2"].map((name) => ({ metadata: { name, labels: { host: name } } }));
  const classes = [
    { metadata: { name: "local" }, volumeBindingMode: "WaitForFirstConsumer" },
    { metadata: { name: "now" }, volumeBindingMode: "Immediate" },
  ];
  const lists: Record<string, Body[]> = {
    "/api/v1/persistentvolumes": volumes,
    "/api/v1/persistentvolumeclaims": claims,
    "/api/v1/pods": pods,
    "/api/v1/nodes": nodes,
    "/apis/storage.k8s.io/v1/storageclasses": classes,
  };
  return audit({ call: async (_, path) => ({ status: 200, body: { items: lists[path] } }) });
}

const claimRefOf = (name: string, uid?: string): Body => ({ namespace: "shop", name, ...(uid && { uid }) });
const take = (all: Cluster, volume: string, claimRef: Body): void => {
  named(all.volumes, volume).spec.claimRef = claimRef;
};

test.for<readonly [what: string, change: (all: Cluster) => void, findings: readonly string[]]>([
  ["all is well", () => {}, []],
  ["a Pod that waits with its claims half chosen", (all) => take(all, "dx", claimRefOf("x", "uid-x")), []],
  ["a volume that a person reserved for a claim to come", (all) => take(all, "dc", claimRefOf("later")), []],
  [
    "a volume that was released, and waits to be reclaimed",
    (all) => {
      take(all, "dc", claimRefOf("gone", "uid-gone"));
      named(all.volumes, "dc").status.phase = "Released";
    },
    [],
  ],
  [
    "a volume that is claimed by nothing",
    (all) => take(all, "dc", claimRefOf("gone", "uid-gone")),
    ["volume dc is claimed by shop/gone, which does not exist"],
  ],
  [
    "a volume whose claim was made anew under its name",
    (all) => take(all, "dc", claimRefOf("x", "uid-old")),
    ["volume dc is claimed by shop/x, which does not exist"],
  ],
  [
    "a claimRef that no person wrote, and that means no claim",
    (all) => {
      take(all, "dc", claimRefOf("gone"));
      named(all.volumes, "dc").metadata.annotations = { "pv.kubernetes.io/bound-by-controller": "yes" };
    },
    ["volume dc is claimed by shop/gone, which does not exist"],
  ],
  [
    "a second volume for a claim that is bound",
    (all) => take(all, "dc", claimRefOf("a", "uid-a")),
    ["volume dc is claimed by shop/a, bound to da"],
  ],
  [
    "two volumes for a claim that is not bound yet",
    (all) => {
      for (const volume of ["dc", "dx"]) take(all, volume, claimRefOf("x", "uid-x"));
    },
    ["volumes dc and dx are claimed by shop/x"],
  ],
  [
    "a volume that two claims are bound to",
    (all) => {
      named(all.claims, "b").spec.volumeName = "da";
      named(all.volumes, "db").spec.claimRef = undefined;
    },
    ["volume da is bound by claims shop/a and shop/b", "claim shop/b is bound to da, whose claimRef is not it"],
  ],
  [
    "a claim whose volume is gone",
    (all) => void all.volumes.splice(1, 1),
    ["claim shop/b is bound to db, whose claimRef is not it", "pod shop/p runs on n1, its claim shop/b is not bound"],
  ],
  [
    "a Pod that runs, and whose claim is not bound",
    (all) => {
      named(all.claims, "a").metadata.annotations = {};
    },
    ["pod shop/p runs on n1, its claim shop/a is not bound"],
  ],
  [
    "a Pod that runs on another node than its volumes are on",
    (all) => {
      named(all.pods, "p").spec.nodeName = "n2";
    },
    ["pod shop/p runs on n2, its volume da is elsewhere", "pod shop/p runs on n2, its volume db is elsewhere"],
  ],
  [
    "a Pod that runs on a node which does not exist",
    (all) => {
      named(all.pods, "p").spec.nodeName = "n3";
    },
    ["pod shop/p runs on n3, its volume da is elsewhere", "pod shop/p runs on n3, its volume db is elsewhere"],
  ],
  [
    "a Pod that waits for claims which were chosen on two nodes",
    (all) => {
      take(all, "dx", claimRefOf("x", "uid-x"));
      take(all, "dy", claimRefOf("y", "uid-y"));
    },
    ["pod shop/q waits, and no node reaches all of its volumes dx and dy"],
  ],
  [
    "a Pod that waits for claims which were bound before it came",
    (all) => {
      for (const name of ["x", "y"]) named(all.claims, name).spec.storageClassName = "now";
      take(all, "dx", claimRefOf("x", "uid-x"));
      take(all, "dy", claimRefOf("y", "uid-y"));
    },
    [],
  ],
])("%s", async ([, change, findings]) => {
  const all = well();
  change(all);
  expect(await found(all)).toEqual(findings);
});
