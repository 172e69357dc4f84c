/** `berth serve` over real sockets, against the sandbox's API server over real sockets. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serveCommand } from "../../src/cli/serve.ts";
import { type Listener, listen } from "../../src/http/listener.ts";
import { nodeRuntime } from "../../src/runtime/node-runtime.ts";
import { ApiServer } from "../../src/sandbox/api-server.ts";
import { kubeconfigFor } from "../../src/sandbox/kubeconfig.ts";
import { makeNode, makePod } from "../support/make.ts";
import { type Outcome, runCommand } from "./support.ts";

const directory = mkdtempSync(join(tmpdir(), "berth-serve-"));
const stop = new AbortController();
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
let api: Listener;
let kubeconfig = "";
let extenderPort = 0;
let debugPort = 0;
let serving: Promise<Outcome>;

beforeAll(async () => {
  const server = new ApiServer({ runtime: nodeRuntime });
  const exchange = server.exchange;
  api = await listen({ handler: exchange, host: "127.0.0.1", port: 0, bodyLimitBytes: 1 << 20 });
  const { metadata, ...node } = makeNode("n1");
  const body = JSON.stringify({ ...node, metadata: { name: "n1", labels: (metadata as { labels: object }).labels } });
  await exchange(
    { method: "POST", path: "/api/v1/nodes", headers: { "content-type": "application/json" }, body },
    stop.signal,
  );
  kubeconfig = join(directory, "kubeconfig");
  writeFileSync(kubeconfig, kubeconfigFor(`http://127.0.0.1:${api.port}`));
  [extenderPort, debugPort] = [await freePort(), await freePort()];
  const argv = ["--kubeconfig", kubeconfig, "--listen", `127.0.0.1:${extenderPort}`];
  serving = runCommand(serveCommand, [...argv, "--debug-listen", `127.0.0.1:${debugPort}`], {
    runtime: nodeRuntime,
    signal: stop.signal,
  });
  await untilReady();
});

afterAll(async () => {
  stop.abort();
  agent.destroy();
  await serving;
  await api.closeNow();
  rmSync(directory, { recursive: true });
});

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
  /** The connection was used before. */
  readonly reused: boolean;
}

function call(port: number, method: string, path: string, body?: string | Buffer): Promise<Answer> {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const request = http.request({ host: "127.0.0.1", port, method, path, agent, headers }, (reply) => {
      const chunks: Buffer[] = [];
      reply.on("data", (chunk) => chunks.push(chunk));
      reply.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: reply.statusCode, headers: reply.headers, text, reused: request.reusedSocket });
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}

async function untilReady(): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const reply = await call(debugPort, "GET", "/readyz").catch(() => undefined);
    if (reply?.status === 200) return;
    await nodeRuntime.sleep(50);
  }
  throw new Error("not ready after 10 s");
}

const free = JSON.stringify({ Pod: makePod("p", []), Nodes: null, NodeNames: ["n1", "n2"] });

test("filter answers over a connection that stays, with its length said", async () => {
  await call(extenderPort, "POST", "/v1/filter", free);
  const reply = await call(extenderPort, "POST", "/v1/filter", free);
  expect(JSON.parse(reply.text)).toMatchObject({ NodeNames: ["n1", "n2"], Error: "" });
  expect(reply.headers["content-length"]).toBe(String(reply.text.length));
  expect(reply.headers["content-type"]).toContain("application/json");
  expect(reply.reused).toBe(true);
});

// FR-097: Go keeps idle connections for 90 s and does not repeat a POST that met our closing one.
test("idle connections are kept for longer than kube-scheduler keeps them", async () => {
  const { headers } = await call(extenderPort, "POST", "/v1/filter", free);
  expect(Number(/timeout=(\d+)/.exec(String(headers["keep-alive"]))?.[1])).toBeGreaterThan(90);
});

test("a body of 65 MiB is 413, an empty or broken one 400, and the next good call works", async () => {
  const huge = await call(extenderPort, "POST", "/v1/filter", Buffer.alloc(65 << 20, " ")).catch(
    (error: Error) => error,
  );
  // The server may close the connection before all of it is sent.
  expect(huge instanceof Error || huge.status === 413).toBe(true);
  expect((await call(extenderPort, "POST", "/v1/filter", "")).status).toBe(400);
  expect((await call(extenderPort, "POST", "/v1/filter", "{")).status).toBe(400);
  expect((await call(extenderPort, "POST", "/v1/bind", `{"PodName":"${"x".repeat(70_000)}"}`)).status).toBe(413);
  expect((await call(extenderPort, "GET", "/v1/filter")).status).toBe(405);
  expect((await call(extenderPort, "POST", "/v1/filter", free)).status).toBe(200);
});

test("metrics and explanations have a listener of their own", async () => {
  const metrics = await call(debugPort, "GET", "/metrics");
  expect(metrics.headers["content-type"]).toContain("text/plain");
  expect(metrics.text).toContain("berth_ready 1\n");
  expect(metrics.text).toContain('berth_cache_objects{kind="node"} 1\n');
  expect(metrics.text).toContain("nodejs_eventloop_lag_p99_seconds");
  expect((await call(debugPort, "GET", "/debug/explain/d/nobody")).status).toBe(404);
  expect((await call(extenderPort, "GET", "/metrics")).status).toBe(404);
});

test("the debug listener has 256 connections, and whoever takes them all takes none of kube-scheduler's", async () => {
  const sockets = Array.from({ length: 300 }, () => connect(debugPort, "127.0.0.1").on("error", () => {}));
  const over = (): number => sockets.filter(({ closed, readableEnded }) => closed || readableEnded).length;
  for (const socket of sockets) socket.resume();
  // One of them may be the connection of the calls before.
  await expect.poll(over).toBeGreaterThanOrEqual(44);
  expect((await call(extenderPort, "POST", "/v1/filter", free)).status).toBe(200);
  expect(over()).toBeLessThanOrEqual(45);
  for (const socket of sockets) socket.destroy();
  const isCounted = async (): Promise<boolean> => {
    const reply = await call(debugPort, "GET", "/metrics").catch(() => undefined);
    return /connections_turned_away_total\{listener="debug",cause="tooMany"\} 4[45]/.test(reply?.text ?? "");
  };
  await expect.poll(isCounted).toBe(true);
});

const serve = (...argv: string[]) => runCommand(serveCommand, argv, { runtime: nodeRuntime });

const lease = async () => {
  const { text } = await call(api.port, "GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth");
  return JSON.parse(text).spec;
};

test("the Lease for background work is held, by a name that is this process's alone", async () => {
  expect(await lease()).toMatchObject({ leaseDurationSeconds: 8, leaseTransitions: 0 });
  expect((await lease()).holderIdentity).toMatch(/^.+_[0-9a-f]{8}-[0-9a-f-]{27}$/);
});

test("an address that is taken is one line and 2", async () => {
  const { code, stderr } = await serve("--kubeconfig", kubeconfig, "--listen", `127.0.0.1:${extenderPort}`);
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /^berth serve: cannot listen on 127\.0\.0\.1:\d+ \(.*EADDRINUSE.*\); choose another address\n$/,
  );
});

test.for([
  [["--listen", "0.0.0.0:1"], "listen is 0.0.0.0, beyond loopback, and would speak plain HTTP"],
  [["--listen", "1"], '--listen "1" is not HOST:PORT'],
  [["--config", "/nowhere.yaml"], "--config /nowhere.yaml: no such file"],
  [["--kubeconfig", "/nowhere"], "--kubeconfig: /nowhere cannot be read"],
  [["--konfig", "x"], '--konfig is not an option; did you mean "--config"?'],
  [[], "no API server is known"],
] as const)("used wrongly it says so in one line and starts nothing: %j", async ([argv, want]) => {
  const { code, stdout, stderr } = await serve(...argv);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(`berth serve: ${want}`);
  expect(stderr.match(/\n/g)).toHaveLength(1);
});

test("a configuration that is wrong names the file and the line", async () => {
  const path = join(directory, "berth.yaml");
  writeFileSync(path, "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nlog_level: debug\n");
  const { stderr } = await serve("--config", path);
  expect(stderr).toBe(`berth serve: ${path}:3: log_level is not a known key; did you mean "logLevel"?\n`);
});

test("--help goes to stdout", async () => {
  const { code, stdout } = await serve("--help");
  expect([code, stdout.startsWith("Usage: berth serve")]).toEqual([0, true]);
});

test("at the stop signal it winds up, and the log says so in JSON lines", async () => {
  stop.abort();
  const { code, stdout, stderr } = await serving;
  expect([code, stderr]).toEqual([0, ""]);
  const messages = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).msg);
  expect(messages[0]).toBe("Starting");
  expect(messages.slice(-2)).toEqual(["Stopping", "Stopped"]);
  expect((await lease()).holderIdentity).toBe("");
  await expect(call(extenderPort, "GET", "/livez")).rejects.toThrow();
});
