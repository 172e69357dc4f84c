/** What scenarios must cover, and the page that says which file does. */
import type { Scenario } from "./scenario.ts";

interface Rows {
  readonly title: string;
  /** Each is covered by one file at least, which names it in `covers`. */
  readonly all: readonly string[];
}

export const rows: readonly Rows[] = [
  {
    title: "What is placed",
    all: [
      "Pod without claims",
      "several claims on one node",
      "static and dynamic together",
      "zone affinity",
      "rack affinity",
      "network storage",
      "raw block",
      "generic ephemeral volume",
      "shared claim of two Pods",
      "claim mounted twice",
      "bound claim pins the Pod",
      "StatefulSet scale-up",
      "burst of Pods",
    ],
  },
  {
    title: "Beside kube-scheduler",
    all: [
      "Pod of another scheduler",
      "NotReady node",
      "cordoned node",
      "preemption by priority with volumes",
      "preemption in vain",
      "exact message",
      "node whose name differs from its hostname label",
    ],
  },
  {
    title: "Which volume suits",
    all: [
      "exact assignment",
      "equal volumes",
      "oversized claim",
      "sizes beyond 2^53",
      "wrong class",
      "class by beta annotation",
      "selector",
      "access modes",
      "VolumeAttributesClass",
      "matchFields volume",
      "Released volume",
      "deleting volume",
      "prebound volume without uid",
      "prebound volume with uid",
      "volume that a claim names",
    ],
  },
  {
    title: "Claims that nobody may bind",
    all: [
      "immediate class",
      "claim without a class",
      "class that does not exist",
      "lost claim",
      "deleting claim",
      "claim of another owner",
    ],
  },
  {
    title: "Provisioning",
    all: [
      "allowedTopologies",
      "driver on other nodes",
      "class that is static in fact",
      "class that is static by configuration",
      "provisioning failure and another node",
      "rest after a provisioning failure",
      "selected-node that is gone",
    ],
  },
  {
    title: "Capacity",
    all: [
      "capacity objects",
      "pool of a zone",
      "maximumVolumeSize",
      "several capacity objects for one node",
      "claims of one Pod in one pool",
      "capacity promised in flight",
      "classes of one pool",
      "capacity by node annotation",
      "capacity by node allocatable",
      "volumes on one file system",
      "volumes on one disk",
    ],
  },
  {
    title: "Scores",
    all: ["smallest disk first over nodes", "strategy spread", "strategy most-allocated", "strategy upstream"],
  },
  {
    title: "Refused, then woken by",
    all: [
      "PV added",
      "PV freed and re-created",
      "capacity republished",
      "node added",
      "node relabelled",
      "node uncordoned",
      "class added",
      "claim re-created",
      "assumption ended",
    ],
  },
  {
    title: "What happens during a bind",
    all: [
      "two Pods racing for one disk",
      "Pod deleted during bind",
      "Pod re-created during bind",
      "node deleted during bind",
      "node relabelled during bind",
      "PV deleted during bind",
      "PV claimed by another during bind",
      "claimRef removed during bind",
      "harmless change during bind",
      "claim deleted during bind",
      "claim bound to another volume during bind",
      "bind that takes too long",
      "Berth restarts during bind",
    ],
  },
  {
    title: "Departures",
    all: [
      ...[
        "D1",
        "D2",
        "D3",
        "D4",
        "D5",
        "D6",
        "D7",
        "D9",
        "D11",
        "D12",
        "D13",
        "D14",
        "D15",
        "D16",
        "D17",
        "D18",
        "D19",
      ],
      "D20",
    ],
  },
];

/** Why some rows of docs/limits.md have no scenario. */
const unseen = `D8 and D10 change how long an answer takes, not what comes of it. D21 needs an in-tree plugin of Kubernetes to hand over to its CSI
driver: a table of the core's tests shows it.`;

interface Named {
  readonly name: string;
  readonly scenario: Scenario;
}

/** docs/scenarios.md, whole. */
export function scenarioPage(scenarios: readonly Named[]): string {
  const link = ({ name }: Named): string => `[${name}](../test/scenarios/${name}.yaml)`;
  const tables = rows.map(({ title, all }) => {
    const lines = all.map((row) => {
      const files = scenarios.filter(({ scenario }) => scenario.covers.includes(row));
      return `| ${row} | ${files.map(link).join(", ")} |`;
    });
    return [`## ${title}`, "", "| | |", "| --- | --- |", ...lines].join("\n");
  });
  const beyond = scenarios.filter(({ scenario }) => scenario.beyondCore !== undefined);
  const reasons = [...Map.groupBy(beyond, ({ scenario }) => scenario.beyondCore ?? "")]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([reason, all]) => `| ${reason} | ${all.map(link).join(", ")} |`);
  return `${[
    `# Scenarios

A scenario is a YAML file: objects, steps, and what must come of them. The same file runs in three worlds:

| world | what is real | scenarios |
| --- | --- | --- |
| pure core | src/scheduling; each Pod is decided when it is created, and its plan carried out at once | ${scenarios.length - beyond.length} |
| sandbox | Berth; API server, controllers and scheduler are the sandbox's, time is virtual | ${scenarios.length} |
| control plane | Berth, etcd, kube-apiserver, kube-controller-manager and kube-scheduler | ${scenarios.length} |

Where the worlds disagree, one of them is wrong: the sandbox or Berth is mended, not the scenario. test/support/scenario.ts describes the steps; a
test keeps this page. \`npm run test:cluster\` runs them all and ends with a table.`,
    ...tables,
    unseen,
    `## Beyond the pure core

| because | scenarios |
| --- | --- |
${reasons.join("\n")}`,
  ].join("\n\n")}\n`;
}
