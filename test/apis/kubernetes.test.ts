/** From the API's objects to ours: what is read, what is refused and by which name, and that nothing throws. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isVersion, keyOf, kindInfo, objectPath, Translator, translate } from "../../src/apis/kubernetes.ts";
import { nodeName } from "../../src/scheduling/names.ts";
import { accessModeBits, type Kind, kinds } from "../../src/scheduling/objects.ts";
import { labelSelector, matchesLabels, matchesNode, nodeSelector } from "../../src/scheduling/selectors.ts";
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeNode,
  makePod,
  makePV,
  makePVC,
  type Raw,
} from "../support/make.ts";

const managedFields = [{ manager: "kube-controller-manager", operation: "Update", fieldsV1: { "f:spec": {} } }];
const hostname = (...values: string[]) => ({ key: "kubernetes.io/hostname", operator: "In", values: new Set(values) });

/** As `kubectl get -o json` shows them, with everything that is dropped. */
const real: { [K in Kind]: { raw: Raw; key: string; want: unknown } } = {
  volume: {
    key: "local-pv-1",
    raw: {
      metadata: {
        name: "local-pv-1",
        uid: "0e4cbb42",
        resourceVersion: "4711",
        creationTimestamp: "2026-01-01T00:00:00Z",
        labels: { disk: "ssd" },
        annotations: {
          "pv.kubernetes.io/provisioned-by": "local-volume-provisioner-n1",
          "pv.kubernetes.io/bound-by-controller": "yes",
        },
        finalizers: ["kubernetes.io/pv-protection"],
        managedFields,
      },
      spec: {
        capacity: { storage: "100Gi" },
        accessModes: ["ReadWriteOnce", "ReadOnlyMany"],
        persistentVolumeReclaimPolicy: "Delete",
        storageClassName: "local-ssd",
        volumeMode: "Filesystem",
        claimRef: {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          namespace: "d",
          name: "x",
          uid: "ux",
          resourceVersion: "9",
        },
        local: { path: "/mnt/ssd/1" },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["n1"] }] },
            ],
          },
        },
      },
      status: { phase: "Bound", lastPhaseTransitionTime: "2026-01-01T00:00:00Z" },
    },
    want: {
      name: "local-pv-1",
      uid: "0e4cbb42",
      resourceVersion: "4711",
      deleting: false,
      class: "local-ssd",
      capacity: 100n << 30n,
      mode: "Filesystem",
      accessModes: accessModeBits.ReadWriteOnce | accessModeBits.ReadOnlyMany,
      labels: new Map([["disk", "ssd"]]),
      affinity: nodeSelector([{ labels: [{ ...hostname("n1"), operator: "In" }], fields: [] }]),
      phase: "Bound",
      claimRef: { claim: "d/x", uid: "ux" },
      boundByController: true,
      attributesClass: "",
      provisionedBy: "local-volume-provisioner-n1",
      path: "/mnt/ssd/1",
    },
  },
  claim: {
    key: "d/x",
    raw: {
      metadata: {
        name: "x",
        namespace: "d",
        uid: "ux",
        resourceVersion: "9",
        annotations: {
          "volume.kubernetes.io/selected-node": "n1",
          "kubectl.kubernetes.io/last-applied-configuration": "{}",
        },
        ownerReferences: [
          { kind: "StatefulSet", name: "s", uid: "us" },
          { kind: "Pod", name: "p", uid: "up", controller: true, blockOwnerDeletion: true },
        ],
        managedFields,
      },
      spec: {
        accessModes: ["ReadWriteOncePod"],
        resources: { requests: { storage: "1.5Gi" } },
        selector: { matchLabels: { disk: "ssd" } },
        storageClassName: "csi",
        volumeMode: "Block",
        volumeAttributesClassName: "gold",
        dataSource: { kind: "VolumeSnapshot", name: "s", apiGroup: "snapshot.storage.k8s.io" },
      },
      status: { phase: "Pending" },
    },
    want: {
      key: "d/x",
      uid: "ux",
      resourceVersion: "9",
      deleting: false,
      class: "csi",
      request: 3n << 29n,
      mode: "Block",
      accessModes: accessModeBits.ReadWriteOncePod,
      selector: labelSelector([{ key: "disk", operator: "In", values: new Set(["ssd"]) }]),
      bindCompleted: false,
      lost: false,
      selectedNode: "n1",
      attributesClass: "gold",
      controllerUid: "up",
      hasDataSource: true,
    },
  },
  class: {
    key: "csi",
    raw: {
      metadata: {
        name: "csi",
        uid: "uc",
        resourceVersion: "3",
        annotations: { "storageclass.kubernetes.io/is-default-class": "true" },
      },
      provisioner: "ebs.csi.aws.com",
      parameters: { type: "gp3" },
      reclaimPolicy: "Delete",
      volumeBindingMode: "WaitForFirstConsumer",
      allowedTopologies: [{ matchLabelExpressions: [{ key: "topology.kubernetes.io/zone", values: ["a", "b"] }] }],
    },
    want: {
      name: "csi",
      uid: "uc",
      resourceVersion: "3",
      deleting: false,
      provisioner: "ebs.csi.aws.com",
      bindingMode: "WaitForFirstConsumer",
      allowedTopologies: nodeSelector([
        { labels: [{ key: "topology.kubernetes.io/zone", operator: "In", values: new Set(["a", "b"]) }], fields: [] },
      ]),
    },
  },
  node: {
    key: "n1",
    raw: {
      metadata: {
        name: "n1",
        uid: "un",
        resourceVersion: "77",
        labels: { "kubernetes.io/hostname": "n1", "topology.kubernetes.io/zone": "a" },
        annotations: { "node.alpha.kubernetes.io/ttl": "0", "example.com/free": "1Ti" },
      },
      spec: {
        unschedulable: true,
        taints: [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule", timeAdded: "2026-01-01T00:00:00Z" }],
      },
      status: {
        allocatable: { cpu: "3920m", memory: "32Gi", pods: "110" },
        conditions: [
          { type: "DiskPressure", status: "False" },
          { type: "Ready", status: "True" },
        ],
        images: [{ names: ["registry.k8s.io/pause:3.10"], sizeBytes: 1 }],
      },
    },
    want: {
      name: "n1",
      uid: "un",
      resourceVersion: "77",
      deleting: false,
      labels: new Map([
        ["kubernetes.io/hostname", "n1"],
        ["topology.kubernetes.io/zone", "a"],
      ]),
      unschedulable: true,
      taints: [{ key: "node.kubernetes.io/unschedulable", value: "", effect: "NoSchedule" }],
      ready: true,
      allocatable: new Map([
        ["cpu", "3920m"],
        ["memory", "32Gi"],
        ["pods", "110"],
      ]),
      annotations: new Map([["example.com/free", "1Ti"]]),
    },
  },
  driver: {
    key: "ebs.csi.aws.com",
    raw: {
      metadata: { name: "ebs.csi.aws.com", uid: "ud", resourceVersion: "1" },
      spec: { attachRequired: true, storageCapacity: true },
    },
    want: { name: "ebs.csi.aws.com", uid: "ud", resourceVersion: "1", deleting: false, storageCapacity: true },
  },
  csiNode: {
    key: "n1",
    raw: {
      metadata: {
        name: "n1",
        uid: "ucn",
        resourceVersion: "1",
        annotations: { "storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs,kubernetes.io/gce-pd" },
      },
      spec: { drivers: [{ name: "ebs.csi.aws.com", nodeID: "i-1", topologyKeys: ["topology.ebs.csi.aws.com/zone"] }] },
    },
    want: {
      name: "n1",
      uid: "ucn",
      resourceVersion: "1",
      deleting: false,
      drivers: ["ebs.csi.aws.com"],
      migratedPlugins: ["kubernetes.io/aws-ebs", "kubernetes.io/gce-pd"],
    },
  },
  capacity: {
    key: "kube-system/csisc-1",
    raw: {
      metadata: {
        name: "csisc-1",
        namespace: "kube-system",
        uid: "ucap",
        resourceVersion: "5",
        creationTimestamp: "2026-01-02T00:00:00Z",
      },
      storageClassName: "lvm",
      nodeTopology: { matchLabels: { "topology.lvm/node": "n1" } },
      capacity: "100Gi",
      maximumVolumeSize: "60Gi",
    },
    want: {
      key: "kube-system/csisc-1",
      uid: "ucap",
      resourceVersion: "5",
      deleting: false,
      class: "lvm",
      topology: labelSelector([{ key: "topology.lvm/node", operator: "In", values: new Set(["n1"]) }]),
      capacity: 100n << 30n,
      maximumVolumeSize: 60n << 30n,
      createdAt: "2026-01-02T00:00:00Z",
    },
  },
  pod: {
    key: "d/p",
    raw: {
      metadata: {
        name: "p",
        namespace: "d",
        uid: "up",
        resourceVersion: "2",
        deletionTimestamp: "2026-01-01T00:00:00Z",
      },
      spec: {
        schedulerName: "berth-scheduler",
        schedulingGates: [{ name: "wait" }],
        volumes: [
          { name: "tmp", emptyDir: {} },
          { name: "data", persistentVolumeClaim: { claimName: "x" } },
          { name: "again", persistentVolumeClaim: { claimName: "x", readOnly: true } },
          { name: "scratch", ephemeral: { volumeClaimTemplate: { spec: {} } } },
        ],
      },
      status: { phase: "Pending" },
    },
    want: {
      key: "d/p",
      uid: "up",
      resourceVersion: "2",
      deleting: true,
      claims: [
        { claim: "d/x", ephemeral: false },
        { claim: "d/p-scratch", ephemeral: true },
      ],
      schedulerName: "berth-scheduler",
      finished: false,
      gated: true,
    },
  },
};

test.for(kinds)("a %s as a cluster has it keeps the fields that decisions use, and no others", (kind) => {
  const translator = new Translator({ nodeAnnotations: new Set(["example.com/free"]) });
  const { raw, key, want } = real[kind];
  expect(translator.translate(kind, raw)).toEqual({ ok: true, key, object: want });
});

type Edit = (raw: Raw) => Raw;
const put =
  (path: readonly string[], value: unknown): Edit =>
  (raw) => {
    const [first = "", ...rest] = path;
    const inner = raw[first];
    const below = typeof inner === "object" && inner !== null ? (inner as Raw) : {};
    return { ...raw, [first]: rest.length === 0 ? value : put(rest, value)(below) };
  };
const terms = (...list: unknown[]): Edit => put(["spec", "nodeAffinity"], { required: { nodeSelectorTerms: list } });

const faults: Record<string, { kind: Kind; raw: unknown; field: string }> = {
  "no object at all": { kind: "volume", raw: null, field: "metadata.name" },
  "a list in place of an object": { kind: "volume", raw: [], field: "(the object)" },
  "no name": { kind: "volume", raw: put(["metadata", "name"], "")(makePV("a")), field: "metadata.name" },
  "a name that leads elsewhere": {
    kind: "volume",
    raw: put(["metadata", "name"], "..")(makePV("a")),
    field: "metadata.name",
  },
  "an object of another kind": { kind: "volume", raw: makePVC("x"), field: "kind" },
  "a volume without capacity": {
    kind: "volume",
    raw: put(["spec", "capacity"], {})(makePV("a")),
    field: "spec.capacity.storage",
  },
  "a capacity that is a number which may have lost digits": {
    kind: "volume",
    raw: put(["spec", "capacity", "storage"], 2 ** 53)(makePV("a")),
    field: "spec.capacity.storage",
  },
  "a capacity that is no quantity": {
    kind: "volume",
    raw: makePV("a", { capacity: "??" }),
    field: "spec.capacity.storage",
  },
  "a capacity that is an object": {
    kind: "volume",
    raw: put(["spec", "capacity", "storage"], { toString: 1 })(makePV("a")),
    field: "spec.capacity.storage",
  },
  "a capacity of absurd length": {
    kind: "volume",
    raw: makePV("a", { capacity: "9".repeat(100_000) }),
    field: "spec.capacity.storage",
  },
  "a negative capacity": { kind: "volume", raw: makePV("a", { capacity: "-1Gi" }), field: "spec.capacity.storage" },
  "an access mode nobody knows": {
    kind: "volume",
    raw: makePV("a", { modes: ["ReadMostly"] }),
    field: "spec.accessModes",
  },
  "an access mode that every object inherits": {
    kind: "volume",
    raw: makePV("a", { modes: ["constructor"] }),
    field: "spec.accessModes",
  },
  "a volume mode nobody knows": { kind: "volume", raw: makePV("a", { volumeMode: "Tape" }), field: "spec.volumeMode" },
  "labels that are a list": {
    kind: "volume",
    raw: put(["metadata", "labels"], ["a"])(makePV("a")),
    field: "metadata.labels",
  },
  "a label that is no text": {
    kind: "volume",
    raw: put(["metadata", "labels"], { a: 1 })(makePV("a")),
    field: "metadata.labels.a",
  },
  "affinity terms that are no list": {
    kind: "volume",
    raw: put(["spec", "nodeAffinity"], { required: { nodeSelectorTerms: 7 } })(makePV("a")),
    field: "spec.nodeAffinity.required.nodeSelectorTerms",
  },
  "a request that is no quantity (FR-018)": {
    kind: "claim",
    raw: makePVC("x", { request: "abc" }),
    field: "spec.resources.requests.storage",
  },
  "a selector operator nobody knows (FR-018)": {
    kind: "claim",
    raw: makePVC("x", { selector: { matchExpressions: [{ key: "a", operator: "Bogus" }] } }),
    field: "spec.selector.matchExpressions[0].operator",
  },
  "an ordering in a label selector": {
    kind: "claim",
    raw: makePVC("x", { selector: { matchExpressions: [{ key: "a", operator: "Gt", values: ["1"] }] } }),
    field: "spec.selector.matchExpressions[0].operator",
  },
  "a selector value that can be no label": {
    kind: "claim",
    raw: makePVC("x", { selector: { matchLabels: { a: "not a label!" } } }),
    field: "spec.selector.matchLabels",
  },
  "a claim without a namespace": {
    kind: "claim",
    raw: put(["metadata", "namespace"], null)(makePVC("x")),
    field: "metadata.namespace",
  },
  "a binding mode nobody knows": {
    kind: "class",
    raw: makeClass("c", { mode: "Sometime" }),
    field: "volumeBindingMode",
  },
  "a driver that is unsure": {
    kind: "driver",
    raw: put(["spec", "storageCapacity"], "yes")(makeDriver("d")),
    field: "spec.storageCapacity",
  },
  "capacity that is no quantity": {
    kind: "capacity",
    raw: makeCapacity("c", { class: "lvm", on: "n1", capacity: "lots" }),
    field: "capacity",
  },
  "a node whose taints are no list": {
    kind: "node",
    raw: put(["spec", "taints"], {})(makeNode("n1")),
    field: "spec.taints",
  },
  "an amount of a node that is an object": {
    kind: "node",
    raw: put(["status", "allocatable"], { cpu: {} })(makeNode("n1")),
    field: "status.allocatable[cpu]",
  },
  "a driver of a node without a name": { kind: "csiNode", raw: makeCsiNode("n1", ""), field: "spec.drivers[0].name" },
  "a pod volume that is both a claim and ephemeral": {
    kind: "pod",
    raw: put(
      ["spec", "volumes"],
      [{ name: "v", persistentVolumeClaim: { claimName: "x" }, ephemeral: {} }],
    )(makePod("p", [])),
    field: "spec.volumes[0]",
  },
  "a pod volume that names no claim": {
    kind: "pod",
    raw: makePod("p", [""]),
    field: "spec.volumes[0].persistentVolumeClaim.claimName",
  },
  "a pod volume whose claim leads elsewhere": {
    kind: "pod",
    raw: makePod("p", ["../../secrets/s"]),
    field: "spec.volumes[0]",
  },
};

test.for(Object.entries(faults))("what cannot be read is named: %s", ([, { kind, raw, field }]) => {
  expect(translate(kind, raw)).toMatchObject({ ok: false, field });
});

test("a faulty object still says its key, so that it can be set aside", () => {
  expect(translate("claim", makePVC("x", { request: "abc" }))).toMatchObject({ ok: false, key: "d/x" });
});

const volumeOf = (raw: unknown) => {
  const translation = translate("volume", raw);
  if (!translation.ok) throw new Error(`${translation.field}: ${translation.problem}`);
  return translation.object;
};

const hostnameIn = (operator: string, ...values: string[]) => ({
  key: "kubernetes.io/hostname",
  operator,
  ...(values.length > 0 && { values }),
});
const affinities: Record<string, { edit: Edit; want: readonly string[] }> = {
  "no affinity reaches every node": { edit: (raw) => raw, want: ["n1", "n2"] },
  "affinity without `required` reaches every node": { edit: put(["spec", "nodeAffinity"], {}), want: ["n1", "n2"] },
  "no terms match nothing": { edit: terms(), want: [] },
  "terms that are null match nothing": {
    edit: put(["spec", "nodeAffinity"], { required: { nodeSelectorTerms: null } }),
    want: [],
  },
  "an empty term matches nothing": { edit: terms({}), want: [] },
  "a term that cannot be parsed matches nothing": {
    edit: terms({ matchExpressions: [hostnameIn("Bogus", "n1")] }),
    want: [],
  },
  "a requirement nobody can meet spoils its whole term": {
    edit: terms({ matchExpressions: [hostnameIn("In", "n1"), hostnameIn("In")] }),
    want: [],
  },
  "the other terms still count": {
    edit: terms({ matchExpressions: [hostnameIn("Bogus")] }, { matchExpressions: [hostnameIn("In", "n2")] }),
    want: ["n2"],
  },
  "a field names the node": {
    edit: terms({ matchFields: [{ key: "metadata.name", operator: "In", values: ["n2"] }] }),
    want: ["n2"],
  },
  "a field's value is no label's, and may be longer": {
    edit: terms({ matchFields: [{ key: "metadata.name", operator: "NotIn", values: [`n1.${"x".repeat(90)}`] }] }),
    want: ["n1", "n2"],
  },
  "a field may exclude the node": {
    edit: terms({ matchFields: [{ key: "metadata.name", operator: "NotIn", values: ["n2"] }] }),
    want: ["n1"],
  },
  "a field knows no other operator": {
    edit: terms({ matchFields: [{ key: "metadata.name", operator: "Exists" }] }),
    want: [],
  },
  "a field has one value": {
    edit: terms({ matchFields: [{ key: "metadata.name", operator: "In", values: ["n1", "n2"] }] }),
    want: [],
  },
  "Gt compares integers": {
    edit: terms({ matchExpressions: [{ key: "slots", operator: "Gt", values: ["8"] }] }),
    want: ["n2"],
  },
};

test.for(Object.entries(affinities))("affinity of a volume: %s", ([, { edit, want }]) => {
  const { affinity } = volumeOf(edit(makePV("a")));
  const nodes = { n1: { slots: "8" }, n2: { slots: "10" } };
  const found = Object.entries(nodes).filter(([name, labels]) =>
    matchesNode(affinity, new Map(Object.entries({ "kubernetes.io/hostname": name, ...labels })), nodeName(name)),
  );
  expect(found.map(([name]) => name)).toEqual(want);
});

const facts: Record<string, { kind: Kind; raw: unknown; want: object }> = {
  "the beta annotation goes before the class of the spec": {
    kind: "volume",
    raw: makePV("a", { betaClass: "old", class: "new" }),
    want: { class: "old" },
  },
  "an empty beta annotation means no class": {
    kind: "claim",
    raw: makePVC("x", { betaClass: "", class: "new" }),
    want: { class: "" },
  },
  "a claim without a class has the empty one": {
    kind: "claim",
    raw: makePVC("x", { class: null }),
    want: { class: "" },
  },
  "volume mode is Filesystem unless it says Block": { kind: "claim", raw: makePVC("x"), want: { mode: "Filesystem" } },
  "a size beyond 2^53 is exact": {
    kind: "volume",
    raw: makePV("a", { capacity: "9007199254740993" }),
    want: { capacity: 9007199254740993n },
  },
  "a size may be a bare number, as files have it": {
    kind: "volume",
    raw: put(["spec", "capacity", "storage"], 1024)(makePV("a")),
    want: { capacity: 1024n },
  },
  "a claimRef to another kind still takes the volume": {
    kind: "volume",
    raw: put(["spec", "claimRef"], { kind: "Dataset", namespace: "d", name: "x" })(makePV("a")),
    want: { claimRef: { claim: "d/x" } },
  },
  "a claimRef to nothing still takes the volume": {
    kind: "volume",
    raw: put(["spec", "claimRef"], {})(makePV("a")),
    want: { claimRef: { claim: "/" } },
  },
  "a reservation by name alone has no uid": {
    kind: "volume",
    raw: makePV("a", { claim: "x" }),
    want: { claimRef: { claim: "d/x" } },
  },
  "a volume without a phase has the empty one": {
    kind: "volume",
    raw: makePV("a", { phase: "" }),
    want: { phase: "" },
  },
  "a CSI volume names its driver": {
    kind: "volume",
    raw: put(["spec", "csi"], { driver: "ebs.csi.aws.com" })(makePV("a")),
    want: { plugin: "ebs.csi.aws.com" },
  },
  "an in-tree volume names its plugin": {
    kind: "volume",
    raw: put(["spec", "gcePersistentDisk"], { pdName: "a" })(makePV("a")),
    want: { plugin: "kubernetes.io/gce-pd" },
  },
  "bind-completed counts whatever its value": {
    kind: "claim",
    raw: put(["metadata", "annotations"], { "pv.kubernetes.io/bind-completed": "no" })(makePVC("x")),
    want: { bindCompleted: true },
  },
  "an empty selected-node is none": {
    kind: "claim",
    raw: makePVC("x", { selectedNode: "" }),
    want: { selectedNode: undefined },
  },
  "a claim that lost its volume": { kind: "claim", raw: makePVC("x", { phase: "Lost" }), want: { lost: true } },
  "a claim that asks for no size": {
    kind: "claim",
    raw: makePVC("x", { request: null }),
    want: { request: undefined },
  },
  "an owner that does not control is none": {
    kind: "claim",
    raw: put(["metadata", "ownerReferences"], [{ uid: "u", controller: false }])(makePVC("x")),
    want: { controllerUid: undefined },
  },
  "a class without a mode": { kind: "class", raw: makeClass("c", { mode: null }), want: { bindingMode: undefined } },
  "a class without topologies allows every node": {
    kind: "class",
    raw: makeClass("c", { topologies: [] }),
    want: { allowedTopologies: undefined },
  },
  "a node that says nothing is not ready": {
    kind: "node",
    raw: put(["status"], {})(makeNode("n1")),
    want: { ready: false },
  },
  "a pod that ended": {
    kind: "pod",
    raw: put(["status", "phase"], "Succeeded")(makePod("p", [])),
    want: { finished: true },
  },
  "a pod whose scheduler is unnamed": {
    kind: "pod",
    raw: put(["spec", "schedulerName"], null)(makePod("p", [])),
    want: { schedulerName: "default-scheduler" },
  },
};

test.for(Object.entries(facts))("what is read: %s", ([, { kind, raw, want }]) => {
  const translation = translate(kind, raw);
  if (!translation.ok) throw new Error(`${translation.field}: ${translation.problem}`);
  const read: Partial<Record<string, unknown>> = { ...translation.object };
  expect(Object.fromEntries(Object.keys(want).map((field) => [field, read[field]]))).toEqual(want);
});

test("allowed topologies whose term says nothing match nothing", () => {
  const read = translate("class", makeClass("c", { topologies: [{}] }));
  expect(read.ok && matchesNode(read.object.allowedTopologies, new Map(), nodeName("n1"))).toBe(false);
});

test("capacity without a topology reaches no node, with an empty one every node", () => {
  const none = translate("capacity", makeCapacity("c", { class: "lvm", on: null }));
  const every = translate("capacity", makeCapacity("c", { class: "lvm", on: "*" }));
  expect(none.ok && none.object.topology).toBe(undefined);
  expect(every.ok && every.object.topology && matchesLabels(every.object.topology, new Map())).toBe(true);
});

test("objects named like what every object inherits are objects like any other", () => {
  for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
    expect(translate("volume", makePV(name))).toMatchObject({ ok: true, key: name });
  }
  const poisoned = JSON.parse(
    JSON.stringify(makePV("a")).replace(
      '"metadata":{',
      '"__proto__":{"polluted":1},"metadata":{"labels":{"__proto__":"x"},',
    ),
  );
  expect(translate("volume", poisoned)).toMatchObject({ ok: true });
  expect({}).not.toHaveProperty("polluted");
});

test("a megabyte of annotations is not kept", () => {
  const raw = put(["metadata", "annotations"], { big: "x".repeat(1 << 20) })(makeNode("n1"));
  const read = translate("node", raw);
  expect(read.ok && [...read.object.annotations]).toEqual([]);
});

test("of a Pod's nodeSelector no more labels are kept than a hundred, and none that are longer than two names", () => {
  const pod = makePod("p", []);
  const kept = (labels: Record<string, string>): number => {
    const read = translate("pod", { ...pod, spec: { ...(pod["spec"] as object), nodeSelector: labels } });
    return read.ok ? (read.object.nodeSelector?.requirements.length ?? 0) : Number.NaN;
  };
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`key-${at}`, "a"]));
  expect([kept(many(100)), kept(many(101))]).toEqual([100, 100]);
  expect([kept({ a: "x".repeat(505), b: "c" }), kept({ a: "x".repeat(506), b: "c" })]).toEqual([2, 1]);
});

test("a value nested without end is a fault, not a crash", () => {
  let deep: unknown = 1;
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];
  expect(translate("volume", put(["spec", "capacity", "storage"], deep)(makePV("a")))).toMatchObject({ ok: false });
});

test("equal affinities, labels and classes are kept once", () => {
  const translator = new Translator();
  const [a, b] = ["a", "b"].map((name) =>
    translator.translate("volume", makePV(name, { on: "n1", labels: { disk: "ssd" } })),
  );
  if (!a?.ok || !b?.ok) throw new Error("not read");
  expect(a.object.affinity).toBe(b.object.affinity);
  expect(a.object.labels).toBe(b.object.labels);
});

test("translate never throws, and always answers", () => {
  const json = fc.jsonValue({ maxDepth: 5 });
  fc.assert(
    fc.property(fc.constantFrom(...kinds), json, (kind, raw) => {
      expect(typeof translate(kind, raw).ok).toBe("boolean");
      expect(() => keyOf(kind, raw)).not.toThrow();
    }),
    { numRuns: 500 },
  );
});

test("translate never throws on a real object with one part replaced by anything", () => {
  const paths = (value: unknown, path: readonly string[] = []): (readonly string[])[] =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value).flatMap(([key, inner]) => [[...path, key], ...paths(inner, [...path, key])])
      : [];
  const cases = kinds.flatMap((kind) => paths(real[kind].raw).map((path) => ({ kind, path })));
  const hostile = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom("", "..", "-1", "1e999", "NaN", { toString: 1 }),
  );
  fc.assert(
    fc.property(fc.constantFrom(...cases), hostile, ({ kind, path }, value) => {
      const answer = translate(kind, put(path, value)(real[kind].raw));
      if (!answer.ok) expect(answer.field).not.toBe("");
    }),
    { numRuns: 1000 },
  );
});

const paths: Record<string, { kind: Kind; key: string; want: string | undefined }> = {
  "a volume": { kind: "volume", key: "a", want: "/api/v1/persistentvolumes/a" },
  "a claim": { kind: "claim", key: "d/x", want: "/api/v1/namespaces/d/persistentvolumeclaims/x" },
  "a capacity": { kind: "capacity", key: "s/c", want: "/apis/storage.k8s.io/v1/namespaces/s/csistoragecapacities/c" },
  "a name with odd letters is escaped": { kind: "volume", key: "a?b#c", want: "/api/v1/persistentvolumes/a%3Fb%23c" },
  "a name that leads elsewhere has no path": { kind: "claim", key: "d/..", want: undefined },
  "a name with a slash has no path": { kind: "claim", key: "d/../secrets/s", want: undefined },
  "a claim without a namespace has no path": { kind: "claim", key: "x", want: undefined },
  "an empty name has no path": { kind: "volume", key: "", want: undefined },
};

test.for(Object.entries(paths))("objectPath: %s", ([, { kind, key, want }]) => {
  expect(objectPath(kind, key)).toBe(want);
});

test("only waiting Pods are watched, and nodes in small pages", () => {
  expect(kindInfo.pod.fieldSelector).toBe("status.phase=Pending");
  expect(kindInfo.node.pageSize).toBe(100);
});

const versions: Record<string, { raw: unknown; known?: { uid: string; resourceVersion: string }; same: boolean }> = {
  "the same uid and version": { raw: { metadata: { uid: "u", resourceVersion: "7" } }, same: true },
  "another version": { raw: { metadata: { uid: "u", resourceVersion: "8" } }, same: false },
  "another uid": { raw: { metadata: { uid: "w", resourceVersion: "7" } }, same: false },
  "no uid": { raw: { metadata: { resourceVersion: "7" } }, same: false },
  "a version that is no text": { raw: { metadata: { uid: "u", resourceVersion: 7 } }, same: false },
  "no version on either side": {
    raw: { metadata: { uid: "u" } },
    known: { uid: "u", resourceVersion: "" },
    same: false,
  },
  "no metadata": { raw: {}, same: false },
  "no object": { raw: null, same: false },
};

test.for(Object.entries(versions))("what comes is the version that is known: %s", ([, { raw, known, same }]) => {
  expect(isVersion(raw, { deleting: false, ...(known ?? { uid: "u", resourceVersion: "7" }) })).toBe(same);
});
