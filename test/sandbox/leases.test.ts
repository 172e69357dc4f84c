/** Leases as the real API server takes them. */
import { expect, test } from "vitest";
import { makeApi } from "./api-client.ts";

const path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const lease = (spec: object, resourceVersion?: string) => ({
  metadata: { name: "l", ...(resourceVersion && { resourceVersion }) },
  spec,
});

const cases: Record<string, { spec: object; status: number; message?: string }> = {
  "six digits": { spec: { renewTime: "2026-01-01T00:00:00.000000Z" }, status: 201 },
  "six digits and an offset": { spec: { acquireTime: "2026-01-01T00:00:00.123456+02:00" }, status: 201 },
  "no times at all": { spec: { holderIdentity: "", renewTime: null }, status: 201 },
  "three digits": {
    spec: { renewTime: "2026-01-01T00:00:00.123Z" },
    status: 400,
    message: 'Lease in version "v1" cannot be handled as a Lease: parsing time "2026-01-01T00:00:00.123Z"',
  },
  "whole seconds": { spec: { acquireTime: "2026-01-01T00:00:00Z" }, status: 400, message: 'cannot parse "Z"' },
  "nine digits": { spec: { renewTime: "2026-01-01T00:00:00.123456789Z" }, status: 400, message: "cannot parse" },
  "a number for a time": { spec: { renewTime: 1 }, status: 400, message: "cannot parse" },
  "no duration": { spec: { leaseDurationSeconds: 0 }, status: 422, message: "must be greater than 0" },
  "more transitions than 32 bits hold": {
    spec: { leaseTransitions: 2 ** 31 },
    status: 400,
    message: "cannot unmarshal number 2147483648 into Go struct field LeaseSpec.spec.leaseTransitions of type int32",
  },
  "the most transitions": { spec: { leaseTransitions: 2 ** 31 - 1 }, status: 201 },
  "transitions below none": { spec: { leaseTransitions: -1 }, status: 422, message: "greater than or equal to 0" },
};

// FR-113.
test.for(Object.entries(cases))("a Lease with %s", async ([, { spec, status, message }]) => {
  const answer = await makeApi().post(path, lease(spec));
  expect(answer.status).toBe(status);
  if (message !== undefined) expect(answer.body.message).toContain(message);
});

test("a Lease with three digits is refused in an update and a patch too", async () => {
  const api = makeApi();
  const { body } = await api.post(path, lease({ renewTime: "2026-01-01T00:00:00.000000Z" }));
  const late = { renewTime: "2026-01-01T00:00:01.000Z" };
  const put = await api.call("PUT", `${path}/l`, lease(late, body.metadata.resourceVersion), {
    "content-type": "application/json",
  });
  expect(put.status).toBe(400);
  expect((await api.patch(`${path}/l`, "merge-patch+json", { spec: late })).status).toBe(400);
});

test("of two updates that stand on one version the second is a conflict", async () => {
  const api = makeApi();
  const { body } = await api.post(path, lease({ holderIdentity: "a" }));
  const put = (holderIdentity: string) =>
    api.call("PUT", `${path}/l`, lease({ holderIdentity }, body.metadata.resourceVersion), {
      "content-type": "application/json",
    });
  expect([(await put("b")).status, (await put("c")).status]).toEqual([200, 409]);
  expect((await api.get(`${path}/l`)).body.spec.holderIdentity).toBe("b");
});
