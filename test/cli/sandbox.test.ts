import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { CommandIo } from "../../src/cli/io.ts";
import { type StartExtender, sandboxCommand } from "../../src/cli/sandbox.ts";
import { nodeRuntime } from "../../src/runtime/node-runtime.ts";

const directory = mkdtempSync(join(tmpdir(), "berth-sandbox-test-"));
afterAll(() => rmSync(directory, { recursive: true }));

function write(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const cluster = write(
  "cluster.yaml",
  `apiVersion: v1
kind: Node
metadata: { name: alpha }
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: { name: local }
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: berth.dev/v1alpha1
kind: SandboxConfiguration
disks:
- { name: alpha-1, node: alpha, class: local, capacity: 10Gi }
`,
);

const podWith = (size: string): string => `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: { name: data, namespace: default }
  spec: { accessModes: [ReadWriteOnce], storageClassName: local, resources: { requests: { storage: ${size} } } }
- apiVersion: v1
  kind: Pod
  metadata: { name: db, namespace: default }
  spec:
    schedulerName: berth-scheduler
    containers: [{ name: db, image: db }]
    volumes: [{ name: data, persistentVolumeClaim: { claimName: data } }]
`;
const fits = write("fits.yaml", podWith("5Gi"));
const tooLarge = write("too-large.yaml", podWith("50Gi"));

async function run(argv: readonly string[], o: { signal?: AbortSignal; startExtender?: StartExtender } = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const io: CommandIo = {
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
    runtime: nodeRuntime,
    env: {},
    signal: o.signal ?? new AbortController().signal,
  };
  const code = await sandboxCommand(argv, io, ...(o.startExtender ? [o.startExtender] : []));
  return { code, out: out.join(""), err: err.join("") };
}

test("it places a Pod with a local disk by the real extender, over real HTTP, and exits with 0", async () => {
  const kubeconfig = join(directory, "kubeconfig");
  const { code, out, err } = await run(["-f", cluster, "-f", fits, "--write-kubeconfig", kubeconfig]);
  expect(err).toBe("");
  expect(out).toContain("Pod default/db runs on alpha\n");
  expect(readFileSync(kubeconfig, "utf8")).toContain("server: http://127.0.0.1:");
  expect(code).toBe(0);
});

test("it says why a Pod has no node, and exits with 1", async () => {
  const { code, out } = await run(["-f", cluster, "-f", tooLarge]);
  expect(out).toContain("Pod default/db has no node: 0/1 nodes are available: 1 node(s) didn't find available");
  expect(code).toBe(1);
});

test("with --keep it runs until it is told to stop", async () => {
  const controller = new AbortController();
  const running = run(["--keep", "--no-scheduler"], { signal: controller.signal });
  controller.abort();
  const { code, out } = await running;
  expect(code).toBe(0);
  const path = /--kubeconfig (\S+)/.exec(out)?.[1] ?? "";
  expect([path.endsWith("kubeconfig"), existsSync(join(path, ".."))]).toEqual([true, false]);
});

test("another extender can be handed in", async () => {
  let stopped = false;
  const startExtender: StartExtender = async () => ({
    entries: [],
    stop: async () => {
      stopped = true;
    },
  });
  const { out } = await run(["-f", cluster, "-f", fits], { startExtender });
  expect(out).toContain("Pod default/db runs on alpha");
  expect(stopped).toBe(true);
});

const broken = write(
  "broken.yaml",
  "apiVersion: berth.dev/v1alpha1\nkind: SandboxConfiguration\ndisks: [{ name: a, node: b }]\n",
);
const unknown = write("unknown.yaml", "apiVersion: v1\nkind: Gadget\nmetadata: { name: a }\n");

test.for([
  [[], "nothing to do"],
  [["--frobnicate"], "--frobnicate is not an option"],
  [["-f", join(directory, "none.yaml")], "no such file"],
  [["--keep", "--listen", "nowhere"], "write it as HOST:PORT"],
  [["-f", broken], "disks[0].class is missing"],
  [["-f", unknown], 'the sandbox has no kind "Gadget"'],
] as const)("misuse %j is one line that says what to do, and exits with 2", async ([argv, text]) => {
  const { code, err } = await run([...argv]);
  expect(err).toContain(text);
  expect(err.trim().split("\n")).toHaveLength(1);
  expect(code).toBe(2);
});

test("--help is on stdout", async () => {
  const { code, out } = await run(["--help"]);
  expect(out).toMatch(/^Usage: berth sandbox/);
  expect(code).toBe(0);
});
