/** Roles on a real kube-apiserver, and what those who have them did. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { allRights, type Right } from "../../src/permissions/rights.ts";
import { rolesYaml } from "../../src/permissions/roles.ts";
import type { Exchange } from "../../src/runtime/runtime.ts";
import { send, until } from "./reach.ts";

export interface Grant {
  /** A ServiceAccount of kube-system; the roles have its name. */
  readonly account: string;
  /** Name of its Lease, in kube-system. */
  readonly lease: string;
  /** All of Berth's unless given. */
  readonly rights?: readonly Right[];
}

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const namespace = "kube-system";
const collections: Readonly<Record<string, string>> = {
  ServiceAccount: `/api/v1/namespaces/${namespace}/serviceaccounts`,
  ClusterRole: `${rbac}/clusterroles`,
  ClusterRoleBinding: `${rbac}/clusterrolebindings`,
  Role: `${rbac}/namespaces/${namespace}/roles`,
  RoleBinding: `${rbac}/namespaces/${namespace}/rolebindings`,
};

/** Makes or replaces what `berth rbac` prints, under names of the account's own. Takes effect moments later. */
export async function grant(exchange: Exchange, { account, lease, rights = allRights }: Grant): Promise<void> {
  const leasePlace = { namespace, name: lease };
  const yaml = rolesYaml({ rights, lease: leasePlace, account: { namespace, name: account } });
  for (const document of parseAllDocuments(yaml)) {
    const object = document.toJS() as { kind: string; metadata: object; roleRef?: object };
    const named = {
      ...object,
      metadata: { ...object.metadata, name: account },
      ...(object.roleRef && { roleRef: { ...object.roleRef, name: account } }),
    };
    const collection = collections[object.kind] ?? `no collection of ${object.kind}`;
    // A namespace of the system's own may come a moment after the server is ready.
    await until(`${object.kind} ${account} stands`, async () => {
      const made = await send(exchange, "POST", collection, { body: named });
      if (made.status !== 409) return made.status === 201;
      return (await send(exchange, "PUT", `${collection}/${account}`, { body: named })).status === 200;
    });
  }
}

export function auditLogIn(folder: string): string {
  return join(folder, "audit.log");
}

/** The calls of the audited account alone: nobody else is to pay for it. */
export function auditFlags(folder: string): string[] {
  const policy = join(folder, "audit-policy.json");
  const users = [`system:serviceaccount:${namespace}:audited`];
  writeFileSync(
    policy,
    JSON.stringify({
      apiVersion: "audit.k8s.io/v1",
      kind: "Policy",
      omitStages: ["RequestReceived"],
      rules: [{ level: "Metadata", users }, { level: "None" }],
    }),
  );
  return [`--audit-policy-file=${policy}`, `--audit-log-path=${auditLogIn(folder)}`];
}

export interface AuditedCall {
  readonly verb: string;
  readonly requestURI: string;
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

export function auditedCalls(auditLog: string): AuditedCall[] {
  if (!existsSync(auditLog)) return [];
  const lines = readFileSync(auditLog, "utf8").split("\n");
  return lines.filter((line) => line.endsWith("}")).map((line) => JSON.parse(line) as AuditedCall);
}
