import { expect, test } from "vitest";
import { claims, makeApi, makeClaim, makePod, makeVolume, pods, volumes } from "./api-client.ts";

const merge = "merge-patch+json";

const fixed: Record<string, { path: string; body: object; patch: object; status: number }> = {
  "a volume's path": { path: volumes, body: makeVolume("a"), patch: { spec: { local: { path: "/b" } } }, status: 422 },
  "a volume's place": { path: volumes, body: makeVolume("a"), patch: { spec: { nodeAffinity: null } }, status: 422 },
  "a claim's size while it is unbound": {
    path: claims,
    body: makeClaim("a"),
    patch: { spec: { resources: { requests: { storage: "9Gi" } } } },
    status: 422,
  },
  "a claim's class once it has one": {
    path: claims,
    body: makeClaim("a", { spec: { storageClassName: "x" } }),
    patch: { spec: { storageClassName: "y" } },
    status: 422,
  },
  "a claim's volume a second time": {
    path: claims,
    body: makeClaim("a", { spec: { volumeName: "v" } }),
    patch: { spec: { volumeName: "w" } },
    status: 422,
  },
  "a claim's volume the first time": {
    path: claims,
    body: makeClaim("a"),
    patch: { spec: { volumeName: "v" } },
    status: 200,
  },
  "a claim's class where it had none": {
    path: claims,
    body: makeClaim("a"),
    patch: { spec: { storageClassName: "x" } },
    status: 200,
  },
  "a pod's node": { path: pods, body: makePod("a"), patch: { spec: { nodeName: "n" } }, status: 422 },
  "a pod's further toleration": {
    path: pods,
    body: makePod("a"),
    patch: { spec: { tolerations: [{ key: "a" }] } },
    status: 200,
  },
  "a pod's gate removed": {
    path: pods,
    body: makePod("a", { spec: { schedulingGates: [{ name: "g" }] } }),
    patch: { spec: { schedulingGates: [] } },
    status: 200,
  },
  "a pod's gate added": {
    path: pods,
    body: makePod("a"),
    patch: { spec: { schedulingGates: [{ name: "g" }] } },
    status: 422,
  },
};

test.for(Object.entries(fixed))("an update of %s", async ([, { path, body, patch: change, status }]) => {
  const { post, patch } = makeApi();
  await post(path, body);
  expect((await patch(`${path}/a`, merge, change)).status).toBe(status);
});
