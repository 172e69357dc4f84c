/** Why kube-scheduler does not offer a node: what it asks of one besides volumes, and whether priority could help. */
import { expect, test } from "vitest";
import { translate } from "../../src/apis/kubernetes.ts";
import { readDemands } from "../../src/apis/pod-demands.ts";
import { pinnedNodes } from "../../src/scheduling/pinned.ts";
import { type PodDemands, placingOn } from "../../src/scheduling/placing.ts";
import { amountText } from "../../src/scheduling/resources.ts";
import { makeNode, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";

type Requests = Record<string, string>;

const asking = (requests: Requests): Raw => ({ name: "c", resources: { requests } });
const limiting = (limits: Requests): Raw => ({ name: "c", resources: { limits } });

function demands(name: string, spec: Raw, status: Raw = {}): PodDemands {
  const read = readDemands({ metadata: { name, namespace: "d", uid: `u${name}` }, spec, status });
  if (!read.ok) throw new Error(`${read.field}: ${read.problem}`);
  return read.demands;
}

/** A node of 8 CPUs, 32Gi and 110 Pods. */
function node(spec: Raw = {}, status: Raw = {}, labels: Record<string, string> = {}) {
  const made = makeNode("n1", labels);
  const read = translate("node", { ...made, spec, status: { ...(made["status"] as Raw), ...status } });
  if (!read.ok) throw new Error(read.problem);
  return read.object;
}

const one = (requests: Requests, more: Raw = {}): PodDemands =>
  demands("p", { containers: [asking(requests)], ...more });
const holding = (name: string, requests: Requests, priority = 0): PodDemands =>
  demands(name, { containers: [asking(requests)], priority });

const says = (on: ReturnType<typeof node>, pod: PodDemands, others: readonly PodDemands[] = []): string[] =>
  placingOn(on, "pinned", pod, others).obstacles.map((obstacle) => obstacle.says);

const taint = (key: string, effect: string, value?: string): Raw => ({ key, effect, ...(value && { value }) });
const notReady = { conditions: [{ type: "Ready", status: "False" }] };

const standing: Record<string, { node: ReturnType<typeof node>; pod?: Raw; says: string[] }> = {
  nothing: { node: node(), says: [] },
  "a cordon": { node: node({ unschedulable: true }), says: ["it is cordoned: kubectl uncordon lets Pods come"] },
  "a cordon, with its taint, is said once": {
    node: node({ unschedulable: true, taints: [taint("node.kubernetes.io/unschedulable", "NoSchedule")] }),
    says: ["it is cordoned: kubectl uncordon lets Pods come"],
  },
  "a cordon that the Pod tolerates": {
    node: node({ unschedulable: true }),
    pod: { tolerations: [{ key: "node.kubernetes.io/unschedulable", operator: "Exists" }] },
    says: [],
  },
  "a node that is not ready": {
    node: node({ taints: [taint("node.kubernetes.io/not-ready", "NoExecute")] }, notReady),
    says: [
      "it is NotReady",
      "it has the taint node.kubernetes.io/not-ready:NoExecute, which the Pod does not tolerate",
    ],
  },
  "a taint of another value": {
    node: node({ taints: [taint("disk", "NoSchedule", "ssd")] }),
    pod: { tolerations: [{ key: "disk", value: "hdd" }] },
    says: ["it has the taint disk=ssd:NoSchedule, which the Pod does not tolerate"],
  },
  "a taint of another effect": {
    node: node({ taints: [taint("disk", "NoExecute")] }),
    pod: { tolerations: [{ key: "disk", operator: "Exists", effect: "NoSchedule" }] },
    says: ["it has the taint disk:NoExecute, which the Pod does not tolerate"],
  },
  "taints that are tolerated by value, by key and all at once, and one that asks for nothing": {
    node: node({
      taints: [taint("a", "NoSchedule", "1"), taint("b", "NoExecute", "2"), taint("c", "PreferNoSchedule")],
    }),
    pod: {
      tolerations: [
        { key: "a", operator: "Equal", value: "1" },
        { key: "b", operator: "Exists" },
      ],
    },
    says: [],
  },
  "a toleration of everything": {
    node: node({ taints: [taint("a", "NoSchedule", "1")] }),
    pod: { tolerations: [{ operator: "Exists" }] },
    says: [],
  },
  "labels that the nodeSelector asks for": {
    node: node({}, {}, { zone: "a", rack: "1" }),
    pod: { nodeSelector: { zone: "b", rack: "1", disk: "ssd" } },
    says: ["the Pod's nodeSelector asks for zone In [b] and disk In [ssd], it has zone=a, disk=(none)"],
  },
  "node affinity": {
    node: node({}, {}, { zone: "a" }),
    pod: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["b", "c"] }] }],
          },
        },
      },
    },
    says: ["the Pod's node affinity asks for zone In [b, c]"],
  },
};

test.for(Object.entries(standing))("the node stands in the way by %s", ([, row]) => {
  expect(says(row.node, one({}, row.pod))).toEqual(row.says);
});

test("what is short is told with who holds it, the most first", () => {
  const others = [
    holding("a", { cpu: "1", memory: "1Gi" }),
    holding("b", { cpu: "5" }, 7),
    holding("c", { cpu: "500m" }),
    holding("e", { cpu: "500m" }),
    holding("f", { memory: "1Gi" }),
    holding("g", { cpu: "100m" }),
    holding("h", { cpu: "100m" }),
  ];
  expect(placingOn(node(), "fits", one({ cpu: "1500m", memory: "4Gi" }), others).obstacles).toEqual([
    {
      kind: "resource",
      says: "700m CPU short: the Pod asks for 1500m, 800m of 8 are free",
      resource: "cpu",
      asks: "1500m",
      free: "800m",
      allocatable: "8",
      short: "700m",
      holders: [
        { pod: "d/b", priority: 7, holds: "5" },
        { pod: "d/a", priority: 0, holds: "1" },
        { pod: "d/c", priority: 0, holds: "500m" },
        { pod: "d/e", priority: 0, holds: "500m" },
        { pod: "d/g", priority: 0, holds: "100m" },
      ],
      holdersLeft: 1,
    },
  ]);
});

const shortOf: Record<string, { pod: PodDemands; others?: PodDemands[]; status?: Raw; says: string[] }> = {
  "nothing, where it just fits": { pod: one({ cpu: "8" }), says: [] },
  "nothing for the Pod itself, and Pods that have ended": {
    pod: one({ cpu: "8" }),
    others: [one({ cpu: "8" }), demands("done", { containers: [asking({ cpu: "8" })] }, { phase: "Succeeded" })],
    says: [],
  },
  "memory, and of a resource that the node does not have": {
    pod: one({ memory: "40Gi", "nvidia.com/gpu": "1" }),
    says: [
      "8Gi memory short: the Pod asks for 40Gi, 32Gi of 32Gi are free",
      "1 nvidia.com/gpu short: the Pod asks for 1, 0 of 0 are free",
    ],
  },
  Pods: {
    pod: one({}),
    others: [holding("a", {}), holding("b", {})],
    status: { allocatable: { pods: "2" } },
    says: ["1 Pods short: the Pod asks for 1, 0 of 2 are free"],
  },
  "what a node with more Pods than it has room for lacks besides": {
    pod: one({ cpu: "1" }),
    others: [holding("a", { cpu: "10" })],
    says: ["3 CPU short: the Pod asks for 1, 0 of 8 are free"],
  },
};

test.for(Object.entries(shortOf))("the node is short of %s", ([, { pod, others = [], status, says: want }]) => {
  expect(says(node({}, status), pod, others)).toEqual(want);
});

const rooms: Record<string, { spec: Raw; cpu: string }> = {
  "containers side by side": { spec: { containers: [asking({ cpu: "1" }), asking({ cpu: "500m" })] }, cpu: "1500m" },
  "init containers one after the other": {
    spec: { containers: [asking({ cpu: "1" })], initContainers: [asking({ cpu: "3" }), asking({ cpu: "2" })] },
    cpu: "3",
  },
  "one that restarts beside the others, and beside those that start after it": {
    spec: {
      containers: [asking({ cpu: "1" })],
      initContainers: [
        asking({ cpu: "2" }),
        { ...asking({ cpu: "1" }), restartPolicy: "Always" },
        asking({ cpu: "2" }),
      ],
    },
    cpu: "3",
  },
  "what is limited and not asked for": { spec: { containers: [limiting({ cpu: "2" })] }, cpu: "2" },
  "what the Pod asks for as a whole, with overhead": {
    spec: { containers: [asking({ cpu: "1" })], resources: { requests: { cpu: "4" } }, overhead: { cpu: "250m" } },
    cpu: "4250m",
  },
};

test.for(Object.entries(rooms))("a Pod asks for %s", ([, { spec, cpu }]) => {
  expect(amountText("cpu", demands("p", spec).requests.get("cpu") ?? 0n)).toBe(cpu);
});

const full = [holding("low", { cpu: "4" }, 10), holding("high", { cpu: "4" }, 100)];
const priorities: Record<string, { pod: PodDemands; others?: PodDemands[]; spec?: Raw; want: object | undefined }> = {
  "nothing is short": { pod: one({ cpu: "8" }), others: [], want: undefined },
  "Pods of lower priority hold enough": {
    pod: one({ cpu: "3" }, { priority: 50 }),
    want: {
      priority: 50,
      helps: true,
      says: "Pods of lower priority than 50 hold enough: kube-scheduler may evict them",
      victims: ["d/low"],
      victimsLeft: 0,
    },
  },
  "they do, and the Pod evicts nobody": {
    pod: one({ cpu: "3" }, { priority: 50, preemptionPolicy: "Never" }),
    want: { helps: false, says: "Pods of lower priority hold enough, but the Pod's preemptionPolicy is Never" },
  },
  "a higher priority would do": {
    pod: one({ cpu: "6" }, { priority: 50 }),
    want: {
      helps: false,
      says: "a priority above 100 would let kube-scheduler evict Pods for it; the Pod's is 50",
      victims: ["d/high", "d/low"],
    },
  },
  "Pods of the same priority are not evicted": {
    pod: one({ cpu: "3" }, { priority: 10 }),
    want: { helps: false, says: "a priority above 10 would let kube-scheduler evict Pods for it; the Pod's is 10" },
  },
  "all together hold too little": {
    pod: one({ cpu: "9" }, { priority: 500 }),
    want: { helps: false, says: "no priority helps: all Pods of the node together hold less than is short" },
  },
  "system Pods hold it": {
    pod: one({ cpu: "3" }),
    others: [holding("sys", { cpu: "8" }, 2_000_000_000)],
    want: { helps: false, says: "no priority helps that users may give: what is short is held by system Pods" },
  },
  "something else keeps the Pod out": {
    pod: one({ cpu: "3" }, { priority: 50 }),
    spec: { unschedulable: true },
    want: { helps: false, says: "no priority helps while something else keeps the Pod out" },
  },
};

test.for(Object.entries(priorities))("priority: %s", ([, { pod, others = full, spec, want }]) => {
  const { priority } = placingOn(node(spec), "pinned", pod, others);
  if (want) expect(priority).toMatchObject(want);
  else expect(priority).toBeUndefined();
});

test("where the Pods of a node are not known, nothing is said of what is short", () => {
  expect(placingOn(node(), "pinned", one({ cpu: "80" }), undefined)).toEqual({
    node: "n1",
    because: "pinned",
    obstacles: [],
  });
});

test("a Pod that cannot be read is a value, with the field", () => {
  const wrong = { metadata: { name: "p" }, spec: { containers: [{ resources: { requests: { cpu: "much" } } }] } };
  expect(readDemands(wrong)).toEqual({
    ok: false,
    field: "spec.containers[0].resources.requests",
    problem: "not a quantity",
  });
  for (const raw of [undefined, null, 7, [], { spec: [] }]) expect(readDemands(raw).ok).toBe(false);
});

const pins: Record<string, { given: string[]; claims: string[]; want: string[] }> = {
  "by one bound claim": { given: ["pv a 10Gi on=n2 for=x uid=ux", "pvc x 5Gi volume=a"], claims: ["x"], want: ["n2"] },
  "by two, to what both reach": {
    given: [
      "pv a 10Gi at=kubernetes.io/hostname:n1|n2 for=x uid=ux",
      "pvc x 5Gi volume=a",
      "pv b 10Gi at=kubernetes.io/hostname:n2|n3 for=y uid=uy",
      "pvc y 5Gi volume=b",
    ],
    claims: ["x", "y"],
    want: ["n2"],
  },
  "not by a volume that every node reaches": {
    given: ["pv a 10Gi for=x uid=ux", "pvc x 5Gi volume=a"],
    claims: ["x"],
    want: [],
  },
  "not by many nodes": {
    given: ["pv a 10Gi at=kubernetes.io/hostname:n1|n2|n3|n4 for=x uid=ux", "pvc x 5Gi volume=a"],
    claims: ["x"],
    want: [],
  },
  "not by a claim that waits": { given: ["pv a 10Gi on=n2", "pvc x 5Gi"], claims: ["x"], want: [] },
};

test.for(Object.entries(pins))("a Pod is pinned %s", ([, { given, claims, want }]) => {
  const world = new World();
  for (const line of ["node n1", "node n2", "node n3", "node n4", "node n5", ...given]) world.apply(line);
  expect(pinnedNodes(world.state, world.pod("p", ...claims))).toEqual(want);
});
