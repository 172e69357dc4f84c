/** The real kubectl against the sandbox over a real socket: the judge of discovery, tables, patches and watches. */
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Listener, listen } from "../../src/http/listener.ts";
import { nodeRuntime } from "../../src/runtime/node-runtime.ts";
import { ApiServer } from "../../src/sandbox/api-server.ts";
import { kubeconfigFor } from "../../src/sandbox/kubeconfig.ts";

const isMissing = !(process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, "kubectl")));
const withKubectl = test.skipIf(isMissing);
const why = isMissing ? " (skipped: no kubectl on the PATH)" : "";

let listener: Listener;
let folder = "";
const faults: unknown[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "berth-kubectl-"));
  const api = new ApiServer({ runtime: nodeRuntime, protectsVolumes: false, onFault: (fault) => faults.push(fault) });
  listener = await listen({ handler: api.exchange, host: "127.0.0.1", port: 0, bodyLimitBytes: 4 * 1024 * 1024 });
  writeFileSync(join(folder, "kubeconfig"), kubeconfigFor(`http://127.0.0.1:${listener.port}`));
});

afterAll(async () => {
  await listener.closeNow();
  rmSync(folder, { recursive: true });
  expect(faults).toEqual([]);
});

const environment = (): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: folder,
  KUBECONFIG: join(folder, "kubeconfig"),
});

/** Runs kubectl; returns all it printed, and throws with that text when it failed. */
function kubectl(...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile("kubectl", args, { env: environment(), timeout: 15_000 }, (fault, stdout, stderr) => {
      if (fault) reject(new Error(`${stdout}${stderr}`));
      else resolve(stdout + stderr);
    });
  });
}

function manifest(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const world = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {capacity: {cpu: "4"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv1}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: local
  local: {path: /mnt/x}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: h, operator: In, values: [n1]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c1}
spec: {accessModes: [ReadWriteOnce], storageClassName: local, resources: {requests: {storage: 5Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: p1}
spec: {containers: [{name: app, image: "app:1"}, {name: side, image: "side:1"}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: a, image: b}]}}
`;

withKubectl(`kubectl applies, shows, changes and deletes a small world${why}`, async () => {
  const path = manifest("world.yaml", world);
  expect(await kubectl("apply", "-f", path)).toContain("persistentvolumeclaim/c1 created");
  expect(await kubectl("apply", "-f", path)).toContain("pod/p1 unchanged");
  const changed = manifest("changed.yaml", world.replace("side:1", "side:2"));
  expect(await kubectl("apply", "-f", changed)).toContain("pod/p1 configured");
  expect(await kubectl("get", "pod", "p1", "-o", "jsonpath={.spec.containers[*].image}")).toBe("app:1 side:2");
  expect(await kubectl("diff", "-f", changed)).toBe("");

  expect(await kubectl("get", "pv")).toMatch(/pv1\s+10Gi\s+RWO\s+Retain\s+Pending\s+local/);
  expect(await kubectl("get", "pods", "-o", "wide")).toMatch(/p1\s+0\/2\s+Pending\s+0\s+\S+\s+<none>\s+<none>/);
  expect(await kubectl("describe", "pod", "p1")).toMatch(/Image: +side:2/);
  expect(await kubectl("describe", "node", "n1")).toContain("Unschedulable:      false");

  await kubectl("scale", "sts", "db", "--replicas=3");
  expect(await kubectl("get", "sts", "db")).toMatch(/db\s+0\/3/);
  expect(await kubectl("delete", "-f", changed)).toContain('pod "p1" deleted');
  expect(await kubectl("get", "all")).toContain("No resources found");
});

withKubectl(`kubectl labels, annotates, cordons, taints, patches and waits${why}`, async () => {
  await kubectl(
    "create",
    "-f",
    manifest(
      "two.yaml",
      world.replaceAll("1}", "2}").replace("name: local}", "name: local2}").replace("name: db", "name: db2"),
    ),
  );
  await kubectl("cordon", "n2");
  expect(await kubectl("get", "node", "n2")).toContain("Ready,SchedulingDisabled");
  await kubectl("uncordon", "n2");
  await kubectl("taint", "node", "n2", "a=b:NoSchedule");
  await kubectl("taint", "node", "n2", "a-");
  expect(await kubectl("get", "node", "n2", "-o", "jsonpath={.spec.taints}")).toBe("");
  await kubectl("label", "pod", "p2", "tier=x");
  await kubectl("annotate", "pod", "p2", "note=y");
  expect(await kubectl("get", "pods", "-l", "tier in (x)", "-o", "name")).toBe("pod/p2\n");
  await kubectl(
    "patch",
    "pv",
    "pv2",
    "--type=json",
    "-p",
    '[{"op":"add","path":"/spec/claimRef","value":{"name":"c2"}}]',
  );
  const patched = kubectl("wait", "pvc/c2", "--for=jsonpath={.status.phase}=Bound", "--timeout=10s");
  await kubectl("patch", "pvc", "c2", "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"Bound"}}');
  expect(await patched).toContain("condition met");
  expect(await kubectl("apply", "--server-side", "--force-conflicts", "-f", manifest("ss.yaml", world))).toContain(
    "serverside-applied",
  );
  await expect(kubectl("delete", "pod", "nobody")).rejects.toThrow("NotFound");
});

withKubectl(`kubectl creates what it builds itself, and may do all it asks${why}`, async () => {
  expect(await kubectl("create", "namespace", "made")).toContain("namespace/made created");
  await kubectl("create", "configmap", "settings", "--from-literal=a=b", "-n", "made");
  await kubectl("create", "secret", "generic", "key", "--from-literal=a=b", "-n", "made");
  expect(await kubectl("get", "cm,secret", "-n", "made")).toMatch(/settings\s+1[\s\S]*key\s+Opaque\s+1/);
  await kubectl("create", "priorityclass", "high", "--value=1000");
  expect(await kubectl("get", "pc", "high")).toMatch(/high\s+1000\s+false/);
  expect(await kubectl("create", "deployment", "web", "--image=web:1", "--replicas=2", "--port=80")).toContain(
    "created",
  );
  expect(await kubectl("get", "deploy", "web")).toMatch(/web\s+0\/2/);
  await kubectl("create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=50%");
  expect(await kubectl("get", "pdb", "web")).toMatch(/web\s+50%\s+N\/A/);
  await kubectl("create", "service", "clusterip", "web", "--tcp=80:8080");
  expect(await kubectl("get", "svc", "web")).toMatch(/web\s+ClusterIP\s+<none>\s+<none>\s+80\/TCP/);
  expect(await kubectl("auth", "can-i", "delete", "nodes")).toContain("yes");
  expect(await kubectl("delete", "namespace", "made")).toContain("deleted");
});

withKubectl(`kubectl drain evicts${why}`, async () => {
  await kubectl("create", "-f", manifest("n3.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: n3}\n"));
  await kubectl("run", "evicted", "--image=x", '--overrides={"spec":{"nodeName":"n3"}}');
  expect(await kubectl("drain", "n3", "--force", "--timeout=10s")).toContain("pod/evicted evicted");
  expect(await kubectl("get", "pods", "--field-selector=spec.nodeName=n3")).toContain("No resources found");
});

withKubectl(`kubectl get -w prints changes as they happen${why}`, async () => {
  const watcher = spawn("kubectl", ["get", "configmaps", "-w", "--no-headers"], { env: environment() });
  let printed = "";
  watcher.stdout.on("data", (chunk) => {
    printed += String(chunk);
  });
  try {
    await kubectl(
      "apply",
      "-f",
      manifest("cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: seen}\ndata: {a: b}\n"),
    );
    await expect.poll(() => printed).toMatch(/seen\s+1/);
  } finally {
    watcher.kill();
  }
});

withKubectl(`an invalid object is refused with each of its faults${why}`, async () => {
  const text = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: Bad}\nspec: {capacity: {storage: 10Q}}\n";
  const refused = kubectl("apply", "-f", manifest("bad.yaml", text));
  await expect(refused).rejects.toThrow(
    /metadata\.name: Invalid value[\s\S]*spec\.accessModes: Required value[\s\S]*volume type/,
  );
});
