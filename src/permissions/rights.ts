/**
 * Every right that Berth uses of the API, and what fails without it: one list, from which the roles are made, the rights are asked
 * for, and docs/permissions.md is written. Tests hold it to the calls that are really made.
 */
import { type KindInfo, kindInfo } from "../apis/kubernetes.ts";
import { type Kind, kinds } from "../scheduling/objects.ts";

/** What of Berth needs a right. A deployment that leaves a part out needs none of its rights. */
export const parts = ["read", "bind", "wake", "tell", "lease", "debug"] as const;
export type Part = (typeof parts)[number];

export const partTitles: Readonly<Record<Part, string>> = {
  read: "What answers stand on: the cache, and reads of what it lacks",
  bind: "Binding volumes and Pods; not needed where Berth only filters",
  wake: "Waking refused Pods; not needed with leaderElection.mode off",
  tell: "Events on Pods; not needed where Berth only filters with leaderElection.mode off",
  lease: "The Lease; not needed with leaderElection.mode off",
  debug: "Who may look at the debug listener, by token; needed with debugTls and debugAccess.tokenReviews",
};

type Verb = "get" | "list" | "watch" | "create" | "update" | "patch";

export interface Right {
  readonly part: Part;
  /** "" is the core group. */
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verb: Verb;
  /**
   * Where it is needed: in the whole cluster, in the Lease's namespace, or on the Lease alone. RBAC cannot bind `create` to a
   * name. @see kubernetes docs/reference/access-authn-authz/rbac, "Referring to resources"
   */
  readonly on: "cluster" | "leaseNamespace" | "lease";
  readonly why: string;
  /** What fails without it. */
  readonly without: string;
}

/** What every authenticated user may do, by the ClusterRole system:basic-user, and what Berth asks its rights with. */
export const ownReview = {
  group: "authorization.k8s.io",
  resource: "selfsubjectaccessreviews",
  verb: "create",
} as const;

function groupOf({ apiVersion }: KindInfo): string {
  return apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
}

function ofKind(kind: Kind): Pick<Right, "group" | "resource" | "on"> {
  return { group: groupOf(kindInfo[kind]), resource: kindInfo[kind].plural, on: "cluster" };
}

const caches: readonly Right[] = kinds.flatMap((kind) => [
  {
    ...ofKind(kind),
    part: "read",
    verb: "list",
    why: `fills the cache where the API server streams no lists, or a stream broke${kind === "pod" ? "; who is on a node, for explanations" : ""}`,
    without: `not ready where the API server streams no lists; else not again after a stream broke${kind === "pod" ? "; explanations do not say why kube-scheduler offers no node" : ""}`,
  } as const,
  {
    ...ofKind(kind),
    part: "read",
    verb: "watch",
    why: "fills the cache and keeps it",
    without: "not ready, or not for longer than cache.staleAfter: Pods with claims get an Error",
  } as const,
]);

function read(kind: Kind, part: Part, why: string, without: string): Right {
  return { ...ofKind(kind), part, verb: "get", why, without };
}

const liveReads: readonly Right[] = [
  read(
    "claim",
    "read",
    "whether a claim that the cache lacks exists; before each bind",
    "Pods with a claim that is new get an Error, and no bind succeeds",
  ),
  read(
    "volume",
    "read",
    "whether a volume that the cache lacks exists; after a conflict",
    "Pods with a volume that is new get an Error, and a bind that met a conflict does not end",
  ),
  read(
    "class",
    "read",
    "whether a class that the cache lacks exists",
    "Pods of a class that is missing get an Error instead of a refusal",
  ),
  read(
    "node",
    "read",
    "whether the node of a selected-node is really gone",
    "Pods whose claim names a node that is gone get an Error, and their bind does not end",
  ),
];

const binding: readonly Right[] = [
  read("pod", "bind", "that the Pod is the one asked about, and waits", "no Pod with claims is bound"),
  {
    ...ofKind("volume"),
    part: "bind",
    verb: "patch",
    why: "claimRef: the volume is taken for the claim, or given back",
    without: "no Pod that needs an existing volume is bound",
  },
  {
    ...ofKind("claim"),
    part: "bind",
    verb: "patch",
    why: "selected-node: the provisioner makes the volume there",
    without: "no Pod that needs a new volume is bound",
  },
  {
    ...ofKind("pod"),
    part: "bind",
    subresource: "binding",
    verb: "create",
    why: "assigns the Pod to its node",
    without: "no Pod is bound, those without claims neither",
  },
  {
    part: "bind",
    group: "",
    resource: "events",
    verb: "list",
    on: "cluster",
    why: "what a provisioner said last, for the error of a bind that waited in vain",
    without: "errors of binds do not say what the provisioner said",
  },
];

const waking: Right = {
  ...ofKind("pod"),
  part: "wake",
  subresource: "status",
  verb: "patch",
  why: "a condition that makes kube-scheduler look again",
  without: "a Pod refused for a cause that is gone is asked about after five minutes",
};

const events = { part: "tell", group: "events.k8s.io", resource: "events", on: "cluster" } as const;

const telling: readonly Right[] = [
  {
    ...events,
    verb: "create",
    why: "says on the Pod what bind did, and why filter refuses it",
    without: "no events on Pods",
  },
  {
    ...events,
    verb: "patch",
    why: "counts what is said again, on the event that is there",
    without: "events do not say that they lasted",
  },
];

const leases = { part: "lease", group: "coordination.k8s.io", resource: "leases" } as const;
const nobodyLeads = "nobody leads: refused Pods are not woken, and with mode answers Berth is not ready";

const leasing: readonly Right[] = [
  { ...leases, verb: "get", on: "lease", why: "who leads", without: nobodyLeads },
  { ...leases, verb: "update", on: "lease", why: "leads, and says so each second", without: nobodyLeads },
  {
    ...leases,
    verb: "create",
    on: "leaseNamespace",
    why: "the first Lease",
    without: `${nobodyLeads}, until somebody makes the Lease`,
  },
];

const looking: readonly Right[] = [
  {
    part: "debug",
    group: "authentication.k8s.io",
    resource: "tokenreviews",
    verb: "create",
    on: "cluster",
    why: "whose a token is that comes to the debug listener",
    without: "nobody gets in by token, Prometheus neither",
  },
  {
    part: "debug",
    group: "authorization.k8s.io",
    resource: "subjectaccessreviews",
    verb: "create",
    on: "cluster",
    why: "whether its user may read the path",
    without: "nobody gets in by token, Prometheus neither",
  },
];

export const allRights: readonly Right[] = [
  ...caches,
  ...liveReads,
  ...binding,
  waking,
  ...telling,
  ...leasing,
  ...looking,
];

export interface Needs {
  /** Whether kube-scheduler leaves bind to Berth. */
  readonly binds: boolean;
  /** Whether the configuration has a Lease. */
  readonly elects: boolean;
  /** Whether the debug listener takes tokens. */
  readonly reviews: boolean;
}

export function rightsFor({ binds, elects, reviews }: Needs): readonly Right[] {
  const needed: Readonly<Record<Part, boolean>> = {
    read: true,
    bind: binds,
    wake: elects,
    tell: binds || elects,
    lease: elects,
    debug: reviews,
  };
  return allRights.filter(({ part }) => needed[part]);
}

export interface LeasePlace {
  readonly namespace: string;
  readonly name: string;
}

/** As `kubectl auth can-i` takes it: "patch pods/status", "get leases.coordination.k8s.io/berth -n kube-system". */
export function titleOf({ verb, group, resource, subresource, on }: Right, { namespace, name }: LeasePlace): string {
  const what = `${resource}${group && `.${group}`}${subresource === undefined ? "" : `/${subresource}`}`;
  const where = on === "cluster" ? "" : ` -n ${namespace}`;
  return `${verb} ${what}${on === "lease" ? `/${name}` : ""}${where}`;
}
