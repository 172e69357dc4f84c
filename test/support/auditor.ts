/**
 * What must hold in the API whatever happened on the way there, read from the API alone. Knows nothing of Berth: any
 * scheduler over any server can be audited.
 */

// biome-ignore lint/suspicious/noExplicitAny: API objects are JSON of every shape
type Body = any;

export interface AuditedApi {
  call(method: string, path: string): Promise<{ status: number; body: Body }>;
}

/** @returns one sentence a fault; empty when all is well */
export async function audit(api: AuditedApi): Promise<string[]> {
  const list = async (path: string): Promise<Body[]> => (await api.call("GET", path)).body.items;
  const volumes = await list("/api/v1/persistentvolumes");
  const claims = await list("/api/v1/persistentvolumeclaims");
  const pods = await list("/api/v1/pods");
  const nodes = await list("/api/v1/nodes");
  const classes = await list("/apis/storage.k8s.io/v1/storageclasses");
  const claimAt = new Map(claims.map((claim) => [keyOf(claim), claim]));
  const volumeAt = new Map(volumes.map((volume) => [volume.metadata.name as string, volume]));
  return [
    ...volumes.flatMap((volume) => auditVolume(volume, claimAt)),
    ...auditHoards(volumes, claimAt),
    ...auditSharing(claims),
    ...claims.flatMap((claim) => auditClaim(claim, volumeAt)),
    ...pods.flatMap((pod) => auditPod(pod, { claimAt, volumeAt, nodes })),
    ...pods.flatMap((pod) => auditWaiting(pod, { claimAt, volumes, nodes, classes })),
  ];
}

const keyOf = ({ metadata }: Body): string => `${metadata.namespace}/${metadata.name}`;
const byController = "pv.kubernetes.io/bound-by-controller";
const isBound = ({ metadata, spec }: Body): boolean =>
  spec.volumeName !== undefined && metadata.annotations?.["pv.kubernetes.io/bind-completed"] !== undefined;

/**
 * A claimRef that says which claim it means, or that no person wrote, must be that of a claim which exists, unless the volume is on
 * its way to be reclaimed.
 */
function auditVolume({ metadata, spec: { claimRef }, status }: Body, claimAt: Map<string, Body>): string[] {
  const { name } = metadata;
  const isOurs = claimRef && (claimRef.uid !== undefined || metadata.annotations?.[byController] !== undefined);
  if (!isOurs || status?.phase === "Released" || status?.phase === "Failed") return [];
  const key = `${claimRef.namespace}/${claimRef.name}`;
  const claim = claimAt.get(key);
  if (!claim || (claimRef.uid !== undefined && claim.metadata.uid !== claimRef.uid))
    return [`volume ${name} is claimed by ${key}, which does not exist`];
  const { volumeName } = claim.spec;
  if (volumeName !== undefined && volumeName !== name)
    return [`volume ${name} is claimed by ${key}, bound to ${volumeName}`];
  return [];
}

/** Of a claim that is bound, `auditVolume` finds the volumes that it is not bound to. */
function auditHoards(volumes: readonly Body[], claimAt: Map<string, Body>): string[] {
  const taken = volumes.filter(({ spec, status }) => spec.claimRef?.uid !== undefined && status?.phase !== "Released");
  return [...Map.groupBy(taken, ({ spec }) => spec.claimRef.uid as string)].flatMap(([uid, all]) => {
    const { namespace, name } = all[0].spec.claimRef;
    const claim = claimAt.get(`${namespace}/${name}`);
    const isOpen = claim?.metadata.uid === uid && claim.spec.volumeName === undefined;
    if (all.length < 2 || !isOpen) return [];
    return [`volumes ${all.map(({ metadata }) => metadata.name).join(" and ")} are claimed by ${namespace}/${name}`];
  });
}

function auditSharing(claims: readonly Body[]): string[] {
  const bound = claims.filter(isBound);
  const byVolume = Map.groupBy(bound, ({ spec }) => spec.volumeName as string);
  return [...byVolume].flatMap(([volume, all]) =>
    all.length > 1 ? [`volume ${volume} is bound by claims ${all.map(keyOf).join(" and ")}`] : [],
  );
}

function auditClaim(claim: Body, volumeAt: Map<string, Body>): string[] {
  if (!isBound(claim)) return [];
  const { volumeName } = claim.spec;
  const uid = volumeAt.get(volumeName)?.spec.claimRef?.uid;
  return uid === claim.metadata.uid
    ? []
    : [`claim ${keyOf(claim)} is bound to ${volumeName}, whose claimRef is not it`];
}

interface Cluster {
  readonly claimAt: Map<string, Body>;
  readonly volumeAt: Map<string, Body>;
  readonly nodes: readonly Body[];
}

function claimKeysOf({ metadata, spec }: Body): string[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }: Body) => {
    const claimName = persistentVolumeClaim?.claimName ?? (ephemeral && `${metadata.name}-${name}`);
    return claimName === undefined ? [] : [`${metadata.namespace}/${claimName}`];
  });
}

/** A Pod on a node must have all its claims bound, to volumes that the node reaches. */
function auditPod(pod: Body, { claimAt, volumeAt, nodes }: Cluster): string[] {
  const { nodeName } = pod.spec;
  if (nodeName === undefined) return [];
  const node = nodes.find(({ metadata }) => metadata.name === nodeName);
  const faults: string[] = [];
  for (const key of claimKeysOf(pod)) {
    const claim = claimAt.get(key);
    const volume = claim && isBound(claim) ? volumeAt.get(claim.spec.volumeName) : undefined;
    if (!volume) faults.push(`pod ${keyOf(pod)} runs on ${nodeName}, its claim ${key} is not bound`);
    else if (!node || !reaches(volume, node)) {
      faults.push(`pod ${keyOf(pod)} runs on ${nodeName}, its volume ${volume.metadata.name} is elsewhere`);
    }
  }
  return faults;
}

interface Waiting {
  readonly claimAt: Map<string, Body>;
  readonly volumes: readonly Body[];
  readonly nodes: readonly Body[];
  readonly classes: readonly Body[];
}

/**
 * A Pod on no node must not have lost every node to what was chosen for it. Of claims that wait for their Pod alone: what is bound
 * before there is one may lie anywhere.
 */
function auditWaiting(pod: Body, { claimAt, volumes, nodes, classes }: Waiting): string[] {
  if (pod.spec.nodeName !== undefined) return [];
  const waits = ({ spec }: Body): boolean =>
    classes.some(
      ({ metadata, volumeBindingMode }) =>
        metadata.name === spec.storageClassName && volumeBindingMode === "WaitForFirstConsumer",
    );
  const claims = claimKeysOf(pod).map((key) => claimAt.get(key));
  const uids = new Set(claims.filter((claim) => claim && waits(claim)).map((claim) => claim.metadata.uid));
  const chosen = volumes.filter(({ spec }) => uids.has(spec.claimRef?.uid));
  if (chosen.length < 2 || nodes.some((node) => chosen.every((volume) => reaches(volume, node)))) return [];
  const names = chosen.map(({ metadata }) => metadata.name).join(" and ");
  return [`pod ${keyOf(pod)} waits, and no node reaches all of its volumes ${names}`];
}

function reaches({ spec }: Body, node: Body): boolean {
  const terms: Body[] | undefined = spec.nodeAffinity?.required?.nodeSelectorTerms;
  if (!terms) return true;
  return terms.some(({ matchExpressions = [], matchFields = [] }) => {
    const holds = ({ key, operator, values = [] }: Body, value: string | undefined): boolean => {
      if (operator === "In") return value !== undefined && values.includes(value);
      if (operator === "NotIn") return value === undefined || !values.includes(value);
      if (operator === "Exists") return value !== undefined;
      if (operator === "DoesNotExist") return value === undefined;
      throw new Error(`the auditor does not know ${operator} on ${key}`);
    };
    const all = matchExpressions.length + matchFields.length;
    return (
      all > 0 &&
      matchExpressions.every((one: Body) => holds(one, node.metadata.labels?.[one.key])) &&
      matchFields.every((one: Body) => holds(one, node.metadata.name))
    );
  });
}
