/** A sandbox, `berth serve` over its API, its scheduler asking that Berth, and a real Prometheus that scrapes it. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { serveCommand } from "../../src/cli/serve.ts";
import { listen } from "../../src/http/listener.ts";
import { Transport } from "../../src/kube/transport.ts";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import { kubeconfigFor } from "../../src/sandbox/kubeconfig.ts";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import { runCommand } from "../cli/support.ts";
import { ClusterView } from "../demo/cluster.ts";
import type { Raw } from "../support/make.ts";
import { readObjects } from "../support/scenario.ts";
import type { PrometheusPrograms } from "./programs.ts";
import { rulesPath } from "./rules.ts";

type Manifest = Parameters<Sandbox["apply"]>[0] extends Iterable<infer M> ? M : never;

const stepMs = 50;

export interface Served {
  readonly extender: string;
  readonly debug: string;
  readonly debugPort: number;
  /** Applies manifests of the examples, by name, and objects. */
  apply(...what: (string | Raw)[]): Promise<void>;
  /** How many Pods have a node. */
  placed(): Promise<number>;
  stop(): Promise<void>;
}

/** @param config  YAML below apiVersion and kind */
export async function serveSandbox(config: string, env: Readonly<Record<string, string>> = {}): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), "berth-monitoring-"));
  const stopping = new AbortController();
  const sandbox = new Sandbox({ runtime, scheduler: false });
  const api = await listen({ handler: sandbox.api.exchange, host: "127.0.0.1", port: 0, bodyLimitBytes: 4 << 20 });
  const [kubeconfig, file] = [join(folder, "kubeconfig"), join(folder, "berth.yaml")];
  writeFileSync(kubeconfig, kubeconfigFor(`http://127.0.0.1:${api.port}`));
  writeFileSync(file, `apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n${config}`);
  const [port, debugPort] = [await freePort(), await freePort()];
  const flags = ["--listen", `127.0.0.1:${port}`, "--debug-listen", `127.0.0.1:${debugPort}`];
  const argv = ["--config", file, "--kubeconfig", kubeconfig, ...flags];
  const serving = runCommand(serveCommand, argv, { runtime, signal: stopping.signal, env });
  const debug = `http://127.0.0.1:${debugPort}`;
  await until("Berth is ready", async () => (await fetch(`${debug}/readyz`)).ok);

  const server = `http://127.0.0.1:${port}`;
  const transport = new Transport({ runtime, connection: { server, credentials: { kind: "none" } }, socketsMax: 100 });
  const shared = { urlPrefix: `${server}/v1`, nodeCacheCapable: true, exchange: transport.exchange };
  sandbox.startScheduler([
    { ...shared, filterVerb: "filter", prioritizeVerb: "prioritize", preemptVerb: "preempt", weight: 5 },
    { ...shared, bindVerb: "bind", httpTimeoutMs: 610_000 },
  ]);
  const cluster = new ClusterView(sandbox.api.exchange, debug);
  return {
    extender: server,
    debug,
    debugPort,
    apply: async (...what) => {
      for (const one of what) {
        const objects = typeof one === "string" ? readObjects(`manifests/examples/${one}.yaml`) : [one as Manifest];
        await sandbox.apply(objects);
      }
    },
    placed: async () => (await cluster.placements()).length,
    stop: async () => {
      sandbox.stop();
      transport.close();
      stopping.abort();
      await serving;
      await api.closeNow();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

export interface RunningPrometheus {
  /** @throws Error with what Prometheus says of the expression */
  query(expr: string): Promise<readonly Sample[]>;
  get(path: string): Promise<unknown>;
  stop(): Promise<void>;
}

export async function startPrometheus(programs: PrometheusPrograms, scraped: number): Promise<RunningPrometheus> {
  const folder = mkdtempSync(join(tmpdir(), "berth-prometheus-"));
  const port = await freePort();
  const config = {
    global: { scrape_interval: "500ms", scrape_timeout: "500ms", evaluation_interval: "500ms" },
    rule_files: [resolve(rulesPath)],
    scrape_configs: [{ job_name: "berth", static_configs: [{ targets: [`127.0.0.1:${scraped}`] }] }],
  };
  const file = join(folder, "prometheus.yaml");
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(config));
  const flags = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = spawn(programs.prometheus, flags, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said = `${said}${chunk}`.slice(-4_000);
  });
  const url = `http://127.0.0.1:${port}`;
  const get = async (path: string): Promise<unknown> => {
    const reply = (await (await fetch(`${url}${path}`)).json()) as { status: string; error?: string; data: unknown };
    if (reply.status !== "success") throw new Error(reply.error ?? "no reason given");
    return reply.data;
  };
  await until(
    "Prometheus is ready",
    async () => (await fetch(`${url}/-/ready`)).ok,
    () => said,
  );
  return {
    get,
    query: async (expr) => {
      const data = (await get(`/api/v1/query?${new URLSearchParams({ query: expr })}`)) as { result: Sample[] };
      return data.result;
    },
    stop: async () => {
      await ended(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const closed = new Promise((settle) => child.once("close", settle));
  child.kill("SIGKILL");
  await closed;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((settle) => probe.listen(0, "127.0.0.1", settle));
  const { port } = probe.address() as AddressInfo;
  await new Promise((settle) => probe.close(settle));
  return port;
}

/** @throws Error that says what did not come about */
export async function until(
  what: string,
  holds: () => Promise<boolean>,
  why = () => "",
  limitMs = 20_000,
): Promise<void> {
  const begun = runtime.now();
  for (;;) {
    if (await holds().catch(() => false)) return;
    if (runtime.now() - begun > limitMs) throw new Error(`not within ${limitMs / 1000} s: ${what} ${why()}`);
    await runtime.sleep(stepMs);
  }
}
