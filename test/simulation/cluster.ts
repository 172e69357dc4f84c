/** The objects of a simulated cluster, as its operators write them. */
import type { Body } from "../binding/world.ts";
import type { ClaimSpec } from "./plan.ts";

export const namespace = "d";
export const driver = "csi.example";
export const hostname = "kubernetes.io/hostname";
export const zone = "topology.example/zone";
export const selectedNode = "volume.kubernetes.io/selected-node";

export const root = {
  nodes: "/api/v1/nodes",
  persistentvolumes: "/api/v1/persistentvolumes",
  persistentvolumeclaims: `/api/v1/namespaces/${namespace}/persistentvolumeclaims`,
  pods: `/api/v1/namespaces/${namespace}/pods`,
  storageclasses: "/apis/storage.k8s.io/v1/storageclasses",
} as const;

export const classes: readonly Body[] = ["local", "csi", "zonal"].map((name) => ({
  metadata: { name },
  provisioner: name === "csi" ? driver : "kubernetes.io/no-provisioner",
  volumeBindingMode: "WaitForFirstConsumer",
  reclaimPolicy: name === "zonal" ? "Retain" : "Delete",
}));

export function nodeNamed(name: string, inZone: string): Body {
  const size = { cpu: "8", memory: "32Gi", pods: "110" };
  const conditions = [{ type: "Ready", status: "True" }];
  return {
    metadata: { name, labels: { [hostname]: name, [zone]: inZone } },
    status: { allocatable: size, capacity: size, conditions },
  };
}

/** Made by hand, reachable from every node of a zone. */
export function volumeNamed(name: string, inZone: string, gi: number): Body {
  const term = { matchExpressions: [{ key: zone, operator: "In", values: [inZone] }] };
  return {
    metadata: { name },
    spec: {
      capacity: { storage: `${gi}Gi` },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Retain",
      storageClassName: "zonal",
      nfs: { server: "nas", path: `/${name}` },
      nodeAffinity: { required: { nodeSelectorTerms: [term] } },
    },
  };
}

export function claimNamed(name: string, spec: ClaimSpec): Body {
  return { metadata: { name, namespace }, spec: claimSpec(spec) };
}

function claimSpec({ class: storageClassName, gi }: ClaimSpec): Body {
  return { accessModes: ["ReadWriteOnce"], storageClassName, resources: { requests: { storage: `${gi}Gi` } } };
}

/** @param ephemeral  the claims are templates, and somebody else makes them */
export function podNamed(name: string, claims: readonly string[], ephemeral: readonly ClaimSpec[] = []): Body {
  return {
    metadata: { name, namespace },
    spec: {
      schedulerName: "berth-scheduler",
      containers: [{ name: "app", image: "app" }],
      volumes: [
        ...claims.map((claimName, at) => ({ name: `v${at}`, persistentVolumeClaim: { claimName } })),
        ...ephemeral.map((spec, at) => ({
          name: `e${at}`,
          ephemeral: { volumeClaimTemplate: { spec: claimSpec(spec) } },
        })),
      ],
    },
  };
}

/** "namespace/name" of each claim that the Pod mounts. */
export function claimsOf({ metadata, spec }: Body): string[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }: Body) => {
    const claim = persistentVolumeClaim?.claimName ?? (ephemeral && `${metadata.name}-${name}`);
    return claim === undefined ? [] : [`${metadata.namespace}/${claim}`];
  });
}

export function reaches({ spec }: Body, node: Body): boolean {
  const terms: Body[] | undefined = spec.nodeAffinity?.required?.nodeSelectorTerms;
  if (!terms) return true;
  return terms.some(({ matchExpressions = [] }) =>
    matchExpressions.every(({ key, operator, values }: Body) => {
      if (operator !== "In") throw new Error(`the simulation knows no ${operator}`);
      return values.includes(node.metadata.labels?.[key]);
    }),
  );
}

export function giOf(quantity: string): number {
  const [, number = "", unit = ""] = /^(\d+)(Gi|)$/.exec(quantity) ?? [];
  if (number === "") throw new Error(`no size: ${quantity}`);
  return Number(number) / (unit === "Gi" ? 1 : 1024 ** 3);
}

export const isBound = ({ metadata, spec }: Body): boolean =>
  spec.volumeName !== undefined && metadata.annotations?.["pv.kubernetes.io/bind-completed"] !== undefined;
