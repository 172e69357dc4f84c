/**
 * A real control plane on loopback, in a folder of its own: etcd, kube-apiserver, kube-controller-manager and kube-scheduler from
 * one binary built out of Go modules, with Berth beside kube-scheduler as its own process.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { findConnection } from "../../src/kube/kube-config.ts";
import { Transport } from "../../src/kube/transport.ts";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import type { Exchange } from "../../src/runtime/runtime.ts";
import { freePorts, Processes } from "./processes.ts";

export const version = process.env["KUBE_VERSION"] ?? "1.36.3";
export const binary = resolve(".cache", "control-plane", version, "control-plane");

const admin = "admin-token";
const schedulerName = "berth-scheduler";

export interface ControlPlane {
  readonly folder: string;
  readonly kubeconfig: string;
  readonly exchange: Exchange;
  readonly debugUrl: string;
  readonly processes: Processes;
  startBerth(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Builds the binary out of Go modules where it is not there yet: minutes the first time, seconds from Go's cache.
 *
 * @returns  why there is none, and what to do
 */
export function ensureBuilt(): string | undefined {
  if (existsSync(binary)) return undefined;
  if (version !== "1.36.3")
    return `there is no control plane ${version} in ${dirname(binary)}, and only 1.36.3 can be built here`;
  mkdirSync(dirname(binary), { recursive: true });
  const flags = `-s -w -X k8s.io/component-base/version.gitVersion=v${version}`;
  const built = spawnSync("go", ["build", `-ldflags=${flags}`, "-o", binary, "."], {
    cwd: join("test", "cluster", "control-plane"),
    stdio: "inherit",
  });
  if (built.error) return "the control plane is built by Go, which is not installed";
  return built.status === 0 ? undefined : "go could not build the control plane; it says above why";
}

/** Resolves when kube-apiserver is ready, the controllers run, Berth is synced and kube-scheduler has started. */
export async function startControlPlane(): Promise<ControlPlane> {
  const folder = mkdtempSync(join(tmpdir(), "berth-cluster-"));
  const processes = new Processes(folder);
  const [etcd = 0, peer = 0, api = 0, extender = 0, debug = 0, kcm = 0, scheduler = 0] = await freePorts(7);
  writeKeys(folder);
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, kubeconfigFor(`https://127.0.0.1:${api}`), { mode: 0o600 });

  startEtcd(processes, folder, etcd, peer);
  startApiServer(processes, folder, etcd, api);
  const found = await findConnection({ env: {}, flag: kubeconfig });
  if (!found.ok) throw new Error(found.error);
  const transport = new Transport({ runtime, connection: found.connection });
  await until("kube-apiserver is ready", async () => (await status(transport.exchange, "/readyz")) === 200);

  startControllers(processes, kubeconfig, kcm);
  const startBerth = async (): Promise<void> => {
    processes.start("berth", process.execPath, [
      "src/main.ts",
      "serve",
      "--kubeconfig",
      kubeconfig,
      "--listen",
      `127.0.0.1:${extender}`,
      "--debug-listen",
      `127.0.0.1:${debug}`,
    ]);
    await until("Berth is ready", async () => (await fetch(`http://127.0.0.1:${debug}/readyz`)).status === 200);
  };
  await startBerth();
  startScheduler(processes, folder, kubeconfig, { extender, port: scheduler });
  return {
    folder,
    kubeconfig,
    exchange: transport.exchange,
    debugUrl: `http://127.0.0.1:${debug}`,
    processes,
    startBerth,
    stop: async () => {
      await Promise.all(
        ["berth", "kube-scheduler", "kube-controller-manager", "kube-apiserver"].map((name) => processes.end(name)),
      );
      await processes.end("etcd");
      transport.close();
    },
  };
}

function writeKeys(folder: string): void {
  const subject = [
    "-subj",
    "/CN=test-ca",
    "-days",
    "1",
    "-nodes",
    "-keyout",
    join(folder, "ca.key"),
    "-out",
    join(folder, "ca.crt"),
  ];
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", ...subject], { stdio: "ignore" });
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  writeFileSync(join(folder, "sa.key"), privateKey.export({ type: "pkcs1", format: "pem" }), { mode: 0o600 });
  writeFileSync(join(folder, "sa.pub"), publicKey.export({ type: "spki", format: "pem" }));
  writeFileSync(join(folder, "tokens.csv"), `${admin},admin,admin,"system:masters"\n`, { mode: 0o600 });
}

function startEtcd(processes: Processes, folder: string, port: number, peer: number): void {
  const client = `http://127.0.0.1:${port}`;
  const peers = `http://127.0.0.1:${peer}`;
  processes.start("etcd", binary, [
    "etcd",
    `--data-dir=${join(folder, "etcd")}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peers}`,
    `--initial-advertise-peer-urls=${peers}`,
    `--initial-cluster=default=${peers}`,
    "--unsafe-no-fsync",
  ]);
}

function startApiServer(processes: Processes, folder: string, etcd: number, port: number): void {
  mkdirSync(join(folder, "certs"), { recursive: true });
  processes.start("kube-apiserver", binary, [
    "kube-apiserver",
    `--etcd-servers=http://127.0.0.1:${etcd}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--cert-dir=${join(folder, "certs")}`,
    // Without one, the others wait for a ConfigMap that would name it.
    `--client-ca-file=${join(folder, "ca.crt")}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${join(folder, "sa.pub")}`,
    `--service-account-signing-key-file=${join(folder, "sa.key")}`,
    "--service-cluster-ip-range=10.0.0.0/24",
    "--authorization-mode=RBAC",
    `--token-auth-file=${join(folder, "tokens.csv")}`,
    "--disable-admission-plugins=ServiceAccount",
    "--max-requests-inflight=2000",
    "--max-mutating-requests-inflight=2000",
    "--enable-priority-and-fairness=false",
  ]);
}

function startControllers(processes: Processes, kubeconfig: string, port: number): void {
  processes.start("kube-controller-manager", binary, [
    "kube-controller-manager",
    `--kubeconfig=${kubeconfig}`,
    `--secure-port=${port}`,
    "--leader-elect=false",
    "--kube-api-qps=5000",
    "--kube-api-burst=5000",
    "--controllers=persistentvolume-binder-controller,persistentvolume-protection-controller,persistentvolumeclaim-protection-controller,ephemeral-volume-controller,statefulset-controller,replicaset-controller,garbage-collector-controller,namespace-controller",
  ]);
}

function startScheduler(
  processes: Processes,
  folder: string,
  kubeconfig: string,
  { extender, port }: { extender: number; port: number },
): void {
  const path = join(folder, "scheduler.yaml");
  const urlPrefix = `http://127.0.0.1:${extender}/v1`;
  const config = {
    apiVersion: "kubescheduler.config.k8s.io/v1",
    kind: "KubeSchedulerConfiguration",
    clientConnection: { kubeconfig, qps: 5000, burst: 5000 },
    leaderElection: { leaderElect: false },
    percentageOfNodesToScore: 100,
    profiles: [
      {
        schedulerName,
        plugins: { multiPoint: { disabled: [{ name: "VolumeBinding" }] } },
        pluginConfig: [
          { name: "DefaultPreemption", args: { minCandidateNodesPercentage: 100, minCandidateNodesAbsolute: 100 } },
        ],
      },
    ],
    extenders: [
      {
        urlPrefix,
        filterVerb: "filter",
        prioritizeVerb: "prioritize",
        preemptVerb: "preempt",
        weight: 5,
        nodeCacheCapable: true,
        ignorable: false,
        httpTimeout: "5s",
      },
      { urlPrefix, bindVerb: "bind", nodeCacheCapable: true, ignorable: false, httpTimeout: "610s" },
    ],
  };
  writeFileSync(path, JSON.stringify(config));
  processes.start("kube-scheduler", binary, ["kube-scheduler", `--config=${path}`, `--secure-port=${port}`]);
}

function kubeconfigFor(server: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "admin", user: { token: admin } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "admin" } }],
    "current-context": "test",
  });
}

async function status(exchange: Exchange, path: string): Promise<number> {
  return (await exchange({ method: "GET", path, headers: {} }, AbortSignal.timeout(2_000))).status;
}

async function until(what: string, holds: () => Promise<boolean>, limitMs = 60_000): Promise<void> {
  const begun = runtime.now();
  for (;;) {
    if (await holds().catch(() => false)) return;
    if (runtime.now() - begun > limitMs) throw new Error(`not within ${limitMs / 1000} s: ${what}`);
    await runtime.sleep(200);
  }
}
