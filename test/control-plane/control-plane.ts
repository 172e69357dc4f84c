/**
 * A real control plane on loopback, in a folder of its own: etcd, kube-apiserver, kube-controller-manager and kube-scheduler, with
 * Berth beside kube-scheduler as its own process.
 */
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rightsFor } from "../../src/permissions/rights.ts";
import { Authority } from "../support/certificates.ts";
import { berthEntries, startKubeScheduler } from "./kube-scheduler.ts";
import { freePorts, Processes } from "./processes.ts";
import type { Programs } from "./programs.ts";
import { adminToken, auditedToken, berthToken, get, reach, schedulerToken, writeKubeconfig } from "./reach.ts";
import { auditFlags, auditLogIn, grant } from "./roles.ts";

/** What another process needs to use a control plane. */
export interface Facts {
  /** Its logs and keys. */
  readonly folder: string;
  readonly kubeconfig: string;
  readonly server: string;
  /** The calls of the user that `auditedToken` names, a line each. */
  readonly auditLog: string;
  /** Berth's, for kube-scheduler: "http://127.0.0.1:port/v1". */
  readonly extenderUrl: string;
  readonly debugUrl: string;
  /** As kube-apiserver says, such as 1.36.3. */
  readonly version: string;
  readonly programs: Programs;
  /** By name: "kube-controller-manager", "berth" and so on. */
  readonly pids: Readonly<Record<string, number>>;
}

export interface ControlPlane {
  readonly facts: Facts;
  readonly processes: Processes;
  startBerth(): Promise<void>;
  /** On the same port, over the same etcd. */
  startApiServer(): Promise<void>;
  /** kube-controller-manager. */
  startControllers(): void;
  startScheduler(): Promise<void>;
  /** Ends all of it, and removes its folder unless the logs are worth a look. */
  stop(options?: { readonly keep?: boolean }): Promise<void>;
}

export interface ControlPlaneOptions {
  readonly programs: Programs;
  readonly version: string;
  /** Where one of the two finds kube-apiserver, in the place of `server`. */
  readonly link?: ((who: "berth" | "kube-scheduler", server: string) => Promise<string>) | undefined;
}

/**
 * Resolves when kube-apiserver is ready, the controllers run, Berth is synced and kube-scheduler's caches are full. Where that
 * fails nothing is left running; the logs are.
 */
export async function startControlPlane({ programs, version, link }: ControlPlaneOptions): Promise<ControlPlane> {
  const folder = mkdtempSync(join(tmpdir(), "berth-cluster-"));
  const processes = new Processes(folder);
  try {
    return await startAll({ programs, version, folder, processes, link });
  } catch (error) {
    await processes.endAll();
    throw new Error(`${(error as Error).message}; logs in ${folder}`);
  }
}

interface Start extends ControlPlaneOptions {
  readonly folder: string;
  readonly processes: Processes;
}

async function startAll({ programs, version, folder, processes, link }: Start): Promise<ControlPlane> {
  const [etcd = 0, peer = 0, api = 0, extender = 0, debug = 0, kcm = 0] = await freePorts(6);
  const server = `https://127.0.0.1:${api}`;
  const kubeconfig = join(folder, "kubeconfig");
  const auditLog = auditLogIn(folder);
  await writeKeys(folder);
  writeKubeconfig(kubeconfig, server);

  processes.start("etcd", [...programs.etcd, ...etcdFlags(folder, etcd, peer)]);
  const transport = reach(server);
  const startApiServer = async (): Promise<void> => {
    processes.start("kube-apiserver", [...programs["kube-apiserver"], ...apiServerFlags(folder, etcd, api)]);
    await processes.comesUp("kube-apiserver", async () => (await get(transport.exchange, "/readyz")).status === 200);
  };
  await startApiServer();
  const runs = versionOf((await get(transport.exchange, "/version")).text) ?? version;
  const startControllers = (): void =>
    processes.start("kube-controller-manager", [
      ...programs["kube-controller-manager"],
      ...controllerFlags(kubeconfig, kcm),
    ]);
  startControllers();
  const rights = rightsFor({ binds: true, elects: true, reviews: false });
  await grant(transport.exchange, { account: "berth", lease: "berth", rights });
  const kubeconfigOf = async (who: "berth" | "kube-scheduler"): Promise<string> => {
    const path = join(folder, `${who}-own-kubeconfig`);
    writeKubeconfig(path, link ? await link(who, server) : server, who === "berth" ? berthToken : adminToken);
    return path;
  };
  const berthConfig = await kubeconfigOf("berth");
  const startBerth = async (): Promise<void> => {
    processes.start("berth", berthCommand(berthConfig, extender, debug));
    await processes.comesUp("berth", async () => (await fetch(`http://127.0.0.1:${debug}/readyz`)).status === 200);
  };
  await startBerth();
  const extenderUrl = `http://127.0.0.1:${extender}/v1`;
  const { asks, binds } = berthEntries(extenderUrl);
  const place = { processes, programs, folder, kubeconfig: await kubeconfigOf("kube-scheduler") };
  const startScheduler = async (): Promise<void> =>
    void (await startKubeScheduler(place, { schedulerName: "berth-scheduler", extenders: [asks, binds] }));
  await startScheduler();
  const debugUrl = `http://127.0.0.1:${debug}`;
  return {
    facts: {
      folder,
      kubeconfig,
      server,
      auditLog,
      extenderUrl,
      debugUrl,
      version: runs,
      programs,
      pids: processes.pids(),
    },
    processes,
    startBerth,
    startApiServer,
    startControllers,
    startScheduler,
    stop: async ({ keep = false } = {}) => {
      await processes.endAll();
      transport.close();
      if (!keep) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Undefined where the programs were built without saying: those of KUBEBUILDER_ASSETS may be of any version. */
function versionOf(answer: string): string | undefined {
  const { gitVersion } = JSON.parse(answer) as { gitVersion: string };
  return /^v(?!0\.0\.0)(\d+\.\d+\.\d+)/.exec(gitVersion)?.[1];
}

export function berthCommand(kubeconfig: string, extender: number, debug: number): [string, ...string[]] {
  const listen = ["--listen", `127.0.0.1:${extender}`, "--debug-listen", `127.0.0.1:${debug}`];
  return [process.execPath, "src/main.ts", "serve", "--kubeconfig", kubeconfig, ...listen];
}

async function writeKeys(folder: string): Promise<void> {
  writeFileSync(join(folder, "ca.crt"), (await Authority.make()).cert);
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  writeFileSync(join(folder, "sa.key"), privateKey.export({ type: "pkcs1", format: "pem" }), { mode: 0o600 });
  writeFileSync(join(folder, "sa.pub"), publicKey.export({ type: "spki", format: "pem" }));
  const account = (name: string): string => `system:serviceaccount:kube-system:${name},${name}`;
  const users = [
    `${adminToken},admin,admin,"system:masters"`,
    `${schedulerToken},system:kube-scheduler,scheduler`,
    `${berthToken},${account("berth")}`,
    `${auditedToken},${account("audited")}`,
  ];
  writeFileSync(join(folder, "tokens.csv"), users.map((user) => `${user}\n`).join(""), { mode: 0o600 });
}

function etcdFlags(folder: string, port: number, peer: number): string[] {
  const client = `http://127.0.0.1:${port}`;
  const peers = `http://127.0.0.1:${peer}`;
  return [
    `--data-dir=${join(folder, "etcd")}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peers}`,
    `--initial-advertise-peer-urls=${peers}`,
    `--initial-cluster=default=${peers}`,
    "--unsafe-no-fsync",
  ];
}

function apiServerFlags(folder: string, etcd: number, port: number): string[] {
  mkdirSync(join(folder, "certs"), { recursive: true });
  return [
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
    ...auditFlags(folder),
    "--disable-admission-plugins=ServiceAccount",
    "--max-requests-inflight=2000",
    "--max-mutating-requests-inflight=2000",
    "--enable-priority-and-fairness=false",
  ];
}

/** Those that have to do with volumes, and what makes and removes Pods. */
const controllers = [
  "persistentvolume-binder-controller",
  "persistentvolume-protection-controller",
  "persistentvolumeclaim-protection-controller",
  "ephemeral-volume-controller",
  "statefulset-controller",
  "replicaset-controller",
  "garbage-collector-controller",
  "namespace-controller",
];

function controllerFlags(kubeconfig: string, port: number): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    "--leader-elect=false",
    "--kube-api-qps=5000",
    "--kube-api-burst=5000",
    `--controllers=${controllers.join(",")}`,
  ];
}
