/** Asking for rights: what is asked, what is made of the answers, and what is logged. */
import { expect, test } from "vitest";
import type { ApiClient } from "../../src/kube/client.ts";
import type { Outcome } from "../../src/kube/outcome.ts";
import { reviewRights, tellMissingRights } from "../../src/permissions/review.ts";
import { allRights, type Right, titleOf } from "../../src/permissions/rights.ts";
import { silentLog } from "../../src/runtime/log.ts";

const lease = { namespace: "kube-system", name: "berth" };

interface Attributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

type Answer = (attributes: Attributes) => Outcome;

const says = (status: unknown): Outcome => ({ ok: true, status: 201, body: { status }, bytes: 1 });
const allows: Answer = () => says({ allowed: true });

function client(answer: Answer): { asked: Attributes[]; api: Pick<ApiClient, "post"> } {
  const asked: Attributes[] = [];
  const post: ApiClient["post"] = async (path, body) => {
    expect(path).toBe("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
    const { resourceAttributes } = (body as { spec: { resourceAttributes: Attributes } }).spec;
    asked.push(resourceAttributes);
    return answer(resourceAttributes);
  };
  return { asked, api: { post } };
}

test("each right is asked for once: in the whole cluster, or in the Lease's namespace and by its name", async () => {
  const { asked, api } = client(allows);
  expect(await reviewRights(api, allRights, lease)).toEqual({ ok: true, missing: [] });
  expect(asked).toHaveLength(allRights.length);
  expect(asked).toContainEqual({ verb: "watch", group: "storage.k8s.io", resource: "csinodes" });
  expect(asked).toContainEqual({ verb: "patch", group: "", resource: "pods", subresource: "status" });
  const leases = { group: "coordination.k8s.io", resource: "leases", namespace: "kube-system" };
  expect(asked).toContainEqual({ ...leases, verb: "update", name: "berth" });
  expect(asked).toContainEqual({ ...leases, verb: "create" });
});

test.for(allRights.map((right) => ({ right, title: titleOf(right, lease) })))(
  "without $title it is missing, and nothing else is",
  async ({ right }) => {
    const isThis = (one: Attributes): boolean =>
      one.verb === right.verb &&
      one.group === right.group &&
      one.resource === right.resource &&
      one.subresource === right.subresource;
    const { api } = client((one) => says({ allowed: !isThis(one) }));
    expect(await reviewRights(api, allRights, lease)).toEqual({ ok: true, missing: [right] });
  },
);

test.for<{ name: string; outcome: Outcome; why: string }>([
  {
    name: "no answer",
    outcome: { ok: false, message: "connect ECONNREFUSED", ambiguous: true },
    why: "connect ECONNREFUSED",
  },
  {
    name: "a refusal to say",
    outcome: { ok: false, status: 403, message: "forbidden", ambiguous: false },
    why: "forbidden",
  },
  { name: "an answer without a verdict", outcome: says({}), why: "does not say whether it is allowed" },
  {
    name: "an answer that is no object",
    outcome: { ok: true, status: 201, body: undefined, bytes: 0 },
    why: "does not say",
  },
])("$name is no missing right", async ({ outcome, why }) => {
  const { api } = client(() => outcome);
  expect(await reviewRights(api, allRights, lease)).toEqual({ ok: false, why: expect.stringContaining(why) });
});

async function told(answer: Answer, rights: readonly Right[] = allRights): Promise<string[]> {
  const lines: string[] = [];
  const note = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  await tellMissingRights(client(answer).api, rights, {
    lease,
    log: { ...silentLog, info: note("info"), warn: note("warn") },
  });
  return lines;
}

test("the log has a line for each missing right, with what fails without it, and one that says what follows", async () => {
  const lines = await told(({ verb, resource }) =>
    says({ allowed: verb !== "patch" || !resource.startsWith("persistent") }),
  );
  expect(lines).toEqual([
    'warn Lacks a right {"right":"patch persistentvolumes","part":"bind","without":"no Pod that needs an existing volume is bound"}',
    'warn Lacks a right {"right":"patch persistentvolumeclaims","part":"bind","without":"no Pod that needs a new volume is bound"}',
    `warn Serves without them, goes on trying, and takes up what is granted: "berth rbac" prints the roles {"missing":2,"rights":${allRights.length}}`,
  ]);
});

test("with every right, and where the API cannot be asked, the log has one line", async () => {
  expect(await told(allows)).toEqual([`info Has every right that it uses {"rights":${allRights.length}}`]);
  expect(await told(() => ({ ok: false, message: "gone", ambiguous: true }))).toEqual([
    'warn Could not ask which rights are granted {"error":"gone"}',
  ]);
});
