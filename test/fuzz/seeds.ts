/** Bodies as kube-scheduler sends them, for every route, of a world's own Pods. */
import type { Body } from "../binding/world.ts";
import { nodeName } from "./cluster.ts";
import type { Request } from "./reader.ts";
import { type SpottedText, spotted } from "./spots.ts";
import type { FuzzWorld } from "./world.ts";

export interface Seed extends Pick<Request, "face" | "method" | "path"> {
  readonly name: string;
  /** How often it is drawn, beside the others. */
  readonly weight: number;
  /** Absent where the route takes none. */
  readonly body?: SpottedText;
}

const someNodes = (count: number): string[] => Array.from({ length: count }, (_, index) => nodeName(index));

export function seedsOf({ pods }: FuzzWorld): Seed[] {
  return [...pods.flatMap(seedsOfPod), ...pages];
}

function seedsOfPod(pod: Body): Seed[] {
  const { name, namespace, uid } = pod.metadata;
  const nodeList = someNodes(8).map((node) => ({
    metadata: { name: node, labels: { "kubernetes.io/hostname": node } },
    spec: {},
    status: { allocatable: { cpu: "8", memory: "32Gi" }, conditions: [{ type: "Ready", status: "True" }] },
  }));
  const victims = someNodes(6).map((node) => [node, { Pods: [{ UID: `victim-${node}` }], NumPDBViolations: 0 }]);
  const victimPods = someNodes(4).map((node) => [
    node,
    { Pods: [{ metadata: { name: "v", namespace, uid: `victim-${node}` } }], NumPDBViolations: 1 },
  ]);
  const verb = (path: string, kind: string, weight: number, body: unknown): Seed => {
    return {
      name: `${path} of ${name}, ${kind}`,
      face: "extender",
      method: "POST",
      path: `/v1/${path}`,
      weight,
      body: spotted(body),
    };
  };
  return [
    verb("filter", "all names", 2, { Pod: pod, Nodes: null, NodeNames: someNodes(100) }),
    verb("filter", "few names", 8, { Pod: pod, Nodes: null, NodeNames: someNodes(12) }),
    verb("filter", "whole nodes", 4, { Pod: pod, Nodes: { metadata: {}, items: nodeList }, NodeNames: null }),
    verb("prioritize", "names", 6, { Pod: pod, Nodes: null, NodeNames: someNodes(20) }),
    verb("preempt", "uids", 4, {
      Pod: pod,
      NodeNameToVictims: null,
      NodeNameToMetaVictims: Object.fromEntries(victims),
    }),
    verb("preempt", "Pods", 3, {
      Pod: pod,
      NodeNameToVictims: Object.fromEntries(victimPods),
      NodeNameToMetaVictims: null,
    }),
    verb("bind", "of a Pod before it", 7, {
      PodName: name,
      PodNamespace: namespace,
      PodUID: `${uid}-before`,
      Node: nodeName(3),
    }),
    verb("bind", "whole", 0.6, { PodName: name, PodNamespace: namespace, PodUID: uid, Node: nodeName(3) }),
    {
      name: `simulate ${name}`,
      face: "debug",
      method: "POST",
      path: "/debug/simulate",
      weight: 0.4,
      body: spotted(pod),
    },
    { name: `explain ${name}`, face: "debug", method: "GET", path: `/debug/explain/${namespace}/${name}`, weight: 0.2 },
    { name: `page of ${name}`, face: "debug", method: "GET", path: `/debug/pods/${namespace}/${name}`, weight: 0.2 },
    { name: `claim ${name}`, face: "debug", method: "GET", path: `/debug/claim/${namespace}/${name}`, weight: 1 },
  ];
}

const pages: readonly Seed[] = [
  { name: "metrics", face: "debug", method: "GET", path: "/metrics", weight: 0.5 },
  { name: "state", face: "debug", method: "GET", path: "/debug/state", weight: 1 },
  { name: "overview", face: "debug", method: "GET", path: "/debug/", weight: 0.5 },
  { name: "stylesheet", face: "debug", method: "GET", path: "/debug/page.css", weight: 0.2 },
  { name: "script", face: "debug", method: "GET", path: "/debug/page.js", weight: 0.2 },
  { name: "livez", face: "extender", method: "GET", path: "/livez", weight: 1 },
  { name: "readyz", face: "extender", method: "GET", path: "/readyz", weight: 1 },
];
