/** The roles grant just the list: asked as RBAC decides, each right is granted, and nothing else. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { allRights, type Needs, type Right, rightsFor } from "../../src/permissions/rights.ts";
import { rolesYaml } from "../../src/permissions/roles.ts";

const lease = { namespace: "kube-system", name: "berth" };
const account = { namespace: "kube-system", name: "berth" };
const everything = { binds: true, elects: true, reviews: true };
const usual = { ...everything, reviews: false };

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface Role {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Rule[];
}

function rolesOf(needs: Needs): Role[] {
  return parseAllDocuments(rolesYaml({ rights: rightsFor(needs), lease, account })).map(
    (document) => document.toJS() as Role,
  );
}

/** What the rules allow, one line a group, resource, name and verb. */
function granted(roles: readonly Role[]): string[] {
  return roles
    .flatMap(({ kind, rules = [] }) =>
      rules.flatMap(({ apiGroups, resources, resourceNames = [""], verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) =>
            resourceNames.flatMap((name) => verbs.map((verb) => [kind, verb, group, resource, name].join(" "))),
          ),
        ),
      ),
    )
    .sort();
}

function wanted(rights: readonly Right[]): string[] {
  return rights
    .map(({ verb, group, resource, subresource, on }) => {
      const what = subresource === undefined ? resource : `${resource}/${subresource}`;
      return [on === "cluster" ? "ClusterRole" : "Role", verb, group, what, on === "lease" ? "berth" : ""].join(" ");
    })
    .sort();
}

test.for([everything, usual, { ...usual, binds: false }, { ...usual, elects: false }])(
  "the roles grant the rights that are needed and no others: %o",
  (needs) => {
    expect(granted(rolesOf(needs))).toEqual(wanted(rightsFor(needs)));
  },
);

test("no right is in the list twice", () => {
  const all = wanted(allRights);
  expect(all).toEqual([...new Set(all)]);
});

test("no role grants by a wildcard, and none grants a deletion, secrets, or writes to what Berth only reads", () => {
  const all = granted(rolesOf(everything)).join("\n");
  expect(all).not.toMatch(/\*|delete|secret|impersonate|escalate/);
  const writes = [...all.matchAll(/(?:create|update|patch) \S* (\S+)/g)].map(([, resource]) => resource);
  expect([...new Set(writes)].sort()).toEqual([
    "events",
    "leases",
    "persistentvolumeclaims",
    "persistentvolumes",
    "pods/binding",
    "pods/status",
    "subjectaccessreviews",
    "tokenreviews",
  ]);
});

test("a Berth without a Lease needs no Role", () => {
  const kinds = rolesOf({ ...usual, elects: false }).map(({ kind }) => kind);
  expect(kinds).toEqual(["ServiceAccount", "ClusterRole", "ClusterRoleBinding"]);
});

test("the account is made, and each role is bound to it, in the namespace of the Lease where it is that one's", () => {
  const yaml = rolesYaml({ rights: allRights, lease: { namespace: "elsewhere", name: "own" }, account });
  const found = parseAllDocuments(yaml).map((document) => document.toJS());
  expect(found.map(({ kind, metadata }) => [kind, metadata])).toEqual([
    ["ServiceAccount", { namespace: "kube-system", name: "berth" }],
    ["ClusterRole", { name: "berth" }],
    ["ClusterRoleBinding", { name: "berth" }],
    ["Role", { name: "berth", namespace: "elsewhere" }],
    ["RoleBinding", { name: "berth", namespace: "elsewhere" }],
  ]);
  for (const { roleRef, subjects } of [found[2], found[4]]) {
    expect(roleRef).toMatchObject({ apiGroup: "rbac.authorization.k8s.io", name: "berth" });
    expect(subjects).toEqual([{ kind: "ServiceAccount", ...account }]);
  }
  expect(found[3].rules[0].resourceNames).toEqual(["own"]);
});

test.for([
  ["manifests/rbac.yaml", usual] as const,
  ["manifests/rbac-filter-only.yaml", { ...usual, binds: false }] as const,
])("%s is what `berth rbac` prints", ([path, needs]) => {
  expect(readFileSync(path, "utf8")).toBe(rolesYaml({ rights: rightsFor(needs), lease, account }));
});
