/** `berth check-storage`: each mistake of docs/check-storage.md, what is none, and the same over files and a cluster. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { checkStorageCommand } from "../../src/cli/check-storage.ts";
import { columns } from "../../src/cli/wrap.ts";
import { listen } from "../../src/http/listener.ts";
import { nodeRuntime } from "../../src/runtime/node-runtime.ts";
import { kubeconfigFor } from "../../src/sandbox/kubeconfig.ts";
import { type StorageMistake, storageMistakes } from "../../src/scheduling/storage-findings.ts";
import { Cluster } from "../server/berth-world.ts";
import { sampleIn } from "../support/doc-samples.ts";
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeNode,
  makePV,
  makePVC,
  type Raw,
  type VolumeFacts,
} from "../support/make.ts";
import { tableIn } from "../support/markdown.ts";
import { configurationOf } from "../support/scenario.ts";
import { type Outcome, runCommand } from "./support.ts";

const page = "docs/check-storage.md";
const folder = mkdtempSync(join(tmpdir(), "berth-storage-"));
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...argv: string[]): Promise<Outcome> => runCommand(checkStorageCommand, argv, { runtime: nodeRuntime });

function filed(objects: readonly Raw[]): string {
  const path = join(folder, "all.json");
  writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  return path;
}

/** "id object: detail" of each finding, with the exit code in front. */
async function found(objects: readonly Raw[], ...argv: string[]): Promise<unknown[]> {
  const { code, stdout, stderr } = await run("-f", filed(objects), "-o", "json", ...argv);
  expect([code === 2, code === 2 ? stderr : ""]).toEqual([false, ""]);
  const findings = JSON.parse(stdout) as { id: string; object: string; detail: string }[];
  return [code, ...findings.map(({ id, object, detail }) => `${id} ${object}: ${detail}`)];
}

const nodes = [makeNode("n1"), makeNode("n2")];
const csi = [makeClass("csi", { provisioner: "csi.example" }), makeDriver("csi.example", true)];
const at = (path: string): Pick<VolumeFacts, "source"> => ({ source: { local: { path } } });
const rooted = (name: string, size: string): Raw => {
  const node = makeNode(name);
  return { ...node, status: { ...(node["status"] as Raw), capacity: { "ephemeral-storage": size } } };
};
const deleted = (volume: Raw): Raw => ({
  ...volume,
  spec: { ...(volume["spec"] as Raw), persistentVolumeReclaimPolicy: "Delete" },
});
const ended = { claim: "old", claimUid: "gone", phase: "Released" };

const mistakes: Record<StorageMistake, { objects: Raw[]; want: string[] }> = {
  unreadable: {
    objects: [makeClass("local"), makePVC("x", { request: "1.5.5Gi" })],
    want: ['claim d/x: spec.resources.requests.storage: "1.5.5Gi" is no size'],
  },
  "immediate-on-local": {
    objects: [
      makeClass("now", { mode: "Immediate" }),
      makeClass("unset", { mode: null, provisioner: "made.example" }),
      makePV("a", { on: "n1", class: "unset" }),
      makePV("b", { on: "n2", class: "unset" }),
    ],
    want: [
      'StorageClass "now": it binds at once, and its provisioner is kubernetes.io/no-provisioner',
      'StorageClass "unset": it binds at once, and has volumes of one node alone: 2 volumes (a, b)',
    ],
  },
  "modes-mixed": {
    objects: [makeClass("local"), makePV("a", { on: "n1", volumeMode: "Block" }), makePV("b", { on: "n1" })],
    want: ['StorageClass "local": Block are 1 volume (a), Filesystem 1 volume (b)'],
  },
  "class-unknown": {
    objects: [makeClass("local"), makePVC("x", { class: "lcoal" }), makePVC("y", { class: "other-thing" })],
    want: [
      'PersistentVolumeClaim d/x: there is no class "lcoal"; "local" may be meant',
      'PersistentVolumeClaim d/y: there is no class "other-thing"',
    ],
  },
  "class-misspelt": {
    objects: [makeClass("local"), makePV("a", { on: "n1", class: "locl" })],
    want: ['StorageClass "locl": does not exist, and 1 volume (a) name it; "local" may be meant'],
  },
  "provisioner-misspelt": {
    objects: [
      makeClass("a", { provisioner: "kubernetes.io/no-provisoner" }),
      makeClass("b", { provisioner: "csi.exmaple" }),
      ...csi,
      ...published(),
    ],
    want: [
      'StorageClass "a": nobody is "kubernetes.io/no-provisoner"; "kubernetes.io/no-provisioner" may be meant',
      'StorageClass "b": nobody is "csi.exmaple"; "csi.example" may be meant',
    ],
  },
  "path-shared": {
    objects: [
      makeClass("local"),
      makePV("a", { on: "n1", ...at("/mnt/x/") }),
      makePV("b", { on: "n1", ...at("/mnt//x") }),
      makePV("c", { on: "n1", ...at("/mnt/x/sub") }),
      makePV("d", { on: "n1", ...at("/mnt/xy") }),
      makePV("e", { on: "n2", ...at("/mnt/x") }),
    ],
    want: ["Node n1: volumes a and b: both are /mnt/x", "Node n1: volumes a and c: /mnt/x/sub is within /mnt/x"],
  },
  "file-system-shared": {
    objects: [
      rooted("n3", "104857600Ki"),
      makeClass("local"),
      makePV("a", { on: "n3", capacity: "100Gi" }),
      makePV("b", { on: "n3", capacity: "99.5Gi" }),
      makePV("c", { on: "n3", capacity: "50Gi" }),
      makePV("d", { on: "n1", capacity: "100Gi" }),
    ],
    want: ["Node n3: 2 volumes (a, b) of 100Gi"],
  },
  "released-retained": {
    objects: [makeClass("local"), makePV("a", { on: "n1", ...ended }), makePV("b", { on: "n2", ...ended })],
    want: ['StorageClass "local": 2 volumes (a, b), 20Gi in all'],
  },
  "released-undeleted": {
    objects: [
      makeClass("local"),
      deleted(makePV("a", { on: "n1", ...ended })),
      deleted(makePV("b", { on: "n1", phase: "Failed" })),
      deleted(makePV("c", { on: "n1", ...ended, deleting: true })),
    ],
    want: ['StorageClass "local": 2 volumes (a, b), 20Gi in all'],
  },
  "volume-out-of-reach": {
    objects: [makeClass("local"), makePV("a", { on: "n9" })],
    want: ['StorageClass "local": 1 volume (a); a asks for kubernetes.io/hostname In [n9]'],
  },
  "volume-missing": {
    objects: [
      makeClass("local"),
      makePVC("x", { volume: "gone" }),
      makePVC("y", { volume: "lost", phase: "Lost", halfBound: true }),
    ],
    want: ["PersistentVolumeClaim d/x: its volume is gone", "PersistentVolumeClaim d/y: its volume is lost"],
  },
  "reserved-in-vain": {
    objects: [makeClass("local"), makePV("a", { on: "n1", capacity: "1Gi", claim: "x" }), makePVC("x")],
    want: ["PersistentVolume a: for claim d/x: too small: 1Gi of 5Gi"],
  },
  "capacity-unpublished": { objects: csi, want: ['StorageClass "csi": driver csi.example'] },
};

function published(): Raw[] {
  return [makeCsiNode("n1", "csi.example"), makeCapacity("c", { class: "csi", on: "n1", capacity: "10Gi" })];
}

test.for(Object.entries(mistakes))("it finds %s, and nothing else", async ([id, { objects, want }]) => {
  expect(await found([...nodes, ...objects])).toEqual([1, ...want.map((one) => `${id} ${one}`)]);
});

const innocent: Record<string, Raw[]> = {
  "a cluster in order": [
    ...nodes,
    makeClass("local"),
    makePV("a", { on: "n1" }),
    makePV("b", { on: "n2", claim: "x", claimUid: "ux" }),
    makePVC("x", { volume: "b" }),
    makePVC("y"),
    ...csi,
    ...published(),
  ],
  "volumes of a name that no class has, for claims of that name": [
    ...nodes,
    makePV("a", { on: "n1", class: "manual" }),
    makePVC("x", { class: "manual" }),
    makeClass("manua1"),
  ],
  "a class that binds at once, of volumes that every node reaches": [
    ...nodes,
    makeClass("nfs", { mode: "Immediate", provisioner: "nfs.example" }),
    makePV("a", { class: "nfs" }),
  ],
  "one of volumes of a zone, where there is but one node": [
    makeNode("n1", { zone: "a" }),
    makeClass("net", { mode: "Immediate", provisioner: "net.example" }),
    makePV("a", {
      class: "net",
      terms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }],
      source: { csi: { driver: "net.example" } },
    }),
  ],
  "a provisioner that nobody registered, and that is like no other": [
    ...nodes,
    makeClass("x", { provisioner: "rancher.io/local-path" }),
  ],
  "both modes of a class that is provisioned": [
    ...nodes,
    ...csi,
    ...published(),
    makePV("a", { on: "n1", class: "csi", volumeMode: "Block", source: { csi: { driver: "csi.example" } } }),
    makePV("b", { on: "n1", class: "csi", source: { csi: { driver: "csi.example" } } }),
  ],
  "no nodes at all": [makeClass("local"), makePV("a", { on: "n1" })],
};

test.for(Object.entries(innocent))("it finds nothing in %s", async ([, objects]) => {
  expect(await found(objects)).toEqual([0]);
});

test("what Berth's configuration tells is no finding: volumes that share a file system by their label", async () => {
  const labels = { "example.com/fs": "root" };
  const shared = ["a", "b"].map((name) => makePV(name, { on: "n1", labels, ...at("/mnt/x") }));
  const config = join(folder, "berth.yaml");
  writeFileSync(config, configurationOf({ disks: [{ label: "example.com/fs", kind: "sharedFilesystem" }] }));
  const objects = [...nodes, makeClass("local"), ...shared];
  expect((await found(objects)).length).toBe(2);
  expect(await found(objects, "--config", config)).toEqual([0]);
});

test("docs/check-storage.md lists every mistake, and shows what is printed", async () => {
  const rows = Object.entries(storageMistakes).map(([id, { what, why, fix }]) => [`\`${id}\``, what, why, fix]);
  expect(tableIn(readFileSync(page, "utf8"), "finding")).toEqual(rows);
  const objects = [
    ...nodes,
    makeClass("local", { mode: "Immediate" }),
    makePV("disk-1", { on: "n1", ...ended }),
    makePVC("data-0", { class: "lcoal" }),
  ];
  const { stdout, code } = await run("-f", filed(objects));
  expect(code).toBe(1);
  expect(sampleIn(page, "findings", stdout)).toBe(stdout);
});

test("names do nothing to the terminal, and lines are as long as a terminal shows", async () => {
  const evil = `a\u001b[2J${"b".repeat(120)}`;
  const { stdout } = await run("-f", filed([...nodes, makeClass("local"), makePVC("x", { class: evil })]));
  expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(columns);
});

test("a live cluster is read by the same rights, and says the same as files", async () => {
  const objects = [...nodes, makeClass("local"), makePVC("x", { class: "lcoal" }), makePV("a", { on: "n9" })];
  const cluster = await new Cluster().start(objects);
  const api = await listen({ handler: cluster.server.exchange, host: "127.0.0.1", port: 0, bodyLimitBytes: 1 << 20 });
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, kubeconfigFor(`http://127.0.0.1:${api.port}`));
  try {
    const live = await run("--kubeconfig", kubeconfig);
    expect(live).toEqual(await run("-f", filed(objects)));
    expect([live.code, live.stdout]).toEqual([1, expect.stringContaining("2 findings\n")]);
  } finally {
    await api.closeNow();
    await cluster.berth.stop();
  }
  const { code, stderr } = await run("--kubeconfig", kubeconfig);
  expect([code, stderr]).toEqual([2, expect.stringContaining("berth check-storage: nodes of http://127.0.0.1:")]);
});

test("2 for what does not go together", async () => {
  expect((await run("-f", "x", "--kubeconfig", "y")).stderr).toContain("from files, or from a cluster");
  expect((await run("-f", "/nowhere")).stderr).toBe("berth check-storage: /nowhere: no such file or directory\n");
  expect((await run("-o", "yaml")).code).toBe(2);
});
