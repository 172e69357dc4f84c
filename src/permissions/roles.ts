/** The account, and the roles that grant it just the rights of the list, as YAML for kubectl. */
import { Document } from "yaml";
import { type LeasePlace, type Part, parts, partTitles, type Right } from "./rights.ts";

export interface RolesOptions {
  readonly rights: readonly Right[];
  readonly lease: LeasePlace;
  readonly account: { readonly namespace: string; readonly name: string };
}

interface Rule {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly resourceNames?: string[];
  readonly verbs: string[];
}

const rbac = "rbac.authorization.k8s.io";
const head = { apiVersion: `${rbac}/v1` } as const;
const name = "berth";

interface Written {
  readonly object: object;
  readonly rules?: readonly { readonly part: Part; readonly rules: readonly Rule[] }[];
}

/** The account, ClusterRole and binding, and, where there is a Lease, Role and binding in its namespace. */
export function rolesYaml({ rights, lease, account }: RolesOptions): string {
  const subjects = [{ kind: "ServiceAccount", ...account }];
  const role = (kind: "ClusterRole" | "Role", namespace: { namespace?: string }, on: readonly Right[]): Written[] => [
    { object: { ...head, kind, metadata: { name, ...namespace } }, rules: rulesByPart(on, lease.name) },
    {
      object: {
        ...head,
        kind: `${kind}Binding`,
        metadata: { name, ...namespace },
        roleRef: { apiGroup: rbac, kind, name },
        subjects,
      },
    },
  ];
  const inCluster = rights.filter(({ on }) => on === "cluster");
  const ofLease = rights.filter(({ on }) => on !== "cluster");
  return [
    {
      object: {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: account.name, namespace: account.namespace },
      },
    },
    ...role("ClusterRole", {}, inCluster),
    ...(ofLease.length > 0 ? role("Role", { namespace: lease.namespace }, ofLease) : []),
  ]
    .map(written)
    .join("---\n");
}

function rulesByPart(rights: readonly Right[], leaseName: string): { part: Part; rules: Rule[] }[] {
  return parts.flatMap((part) => {
    const rules = rulesOf(
      rights.filter((right) => right.part === part),
      leaseName,
    );
    return rules.length > 0 ? [{ part, rules }] : [];
  });
}

/** Resources of one group that have the same verbs share a rule. */
function rulesOf(rights: readonly Right[], leaseName: string): Rule[] {
  const verbs = new Map<string, { right: Right; verbs: string[] }>();
  for (const right of rights) {
    const key = `${right.group} ${resourceOf(right)} ${right.on}`;
    const found = verbs.get(key);
    if (found) found.verbs.push(right.verb);
    else verbs.set(key, { right, verbs: [right.verb] });
  }
  const rules = new Map<string, Rule>();
  for (const { right, verbs: granted } of verbs.values()) {
    const key = `${right.group} ${right.on} ${granted}`;
    const found = rules.get(key);
    if (found) found.resources.push(resourceOf(right));
    else {
      const named = right.on === "lease" && { resourceNames: [leaseName] };
      rules.set(key, { apiGroups: [right.group], resources: [resourceOf(right)], ...named, verbs: granted });
    }
  }
  return [...rules.values()];
}

function resourceOf({ resource, subresource }: Right): string {
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}

function written({ object, rules }: Written): string {
  const document = new Document(object);
  if (rules) {
    const list = rules.flatMap(({ part, rules: ofPart }) =>
      ofPart.map((rule, index) => {
        const node = document.createNode(rule, { flow: true });
        if (index === 0) node.commentBefore = ` ${partTitles[part]}`;
        return node;
      }),
    );
    document.set("rules", document.createNode(list));
  }
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}
