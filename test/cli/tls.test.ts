/** `berth serve` with TLS on both listeners, over real sockets, its files replaced as kubelet replaces a Secret's. */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { Agent, request as httpsRequest, type RequestOptions } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serveCommand } from "../../src/cli/serve.ts";
import { type Listener, listen } from "../../src/http/listener.ts";
import { pollMs } from "../../src/http/tls-watch.ts";
import { nodeRuntime } from "../../src/runtime/node-runtime.ts";
import type { HttpRequest } from "../../src/runtime/runtime.ts";
import { ApiServer } from "../../src/sandbox/api-server.ts";
import { freePorts } from "../control-plane/processes.ts";
import { until } from "../control-plane/reach.ts";
import { Authority, type Pair, writePair } from "../support/certificates.ts";
import { makePod } from "../support/make.ts";
import { configurationOf } from "../support/scenario.ts";
import { type Outcome, runCommand } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "berth-tls-"));
const mount = join(folder, "mount");
const stop = new AbortController();
/** What nobody is to read anywhere. */
const secrets = { apiToken: "canary-of-the-kubeconfig", debugToken: "canary-of-prometheus" };
/** Of the reviews that the API server was asked for. */
const reviews: HttpRequest[] = [];
const runtime = {
  ...nodeRuntime,
  sleep: (ms: number, signal?: AbortSignal) => nodeRuntime.sleep(ms === pollMs ? 20 : ms, signal),
};
let api: Listener;
let ports: readonly number[];
let serving: Promise<Outcome>;
let authority: Authority;
let client: Pair;
let stranger: Pair;
let versions = 0;

/** As kubelet does: a new folder beside the old one, and one symlink that is replaced. */
async function mountVersion(pair: Pair, ca: string): Promise<void> {
  const version = join(mount, `..version-${++versions}`);
  mkdirSync(version, { recursive: true });
  writePair(version, pair, ca);
  symlinkSync(version, join(mount, "..data_tmp"));
  renameSync(join(mount, "..data_tmp"), join(mount, "..data"));
}

const fileOf = (name: string): string => join(mount, "..data", name);

beforeAll(async () => {
  authority = await Authority.make();
  client = await authority.issue({ name: "system:kube-scheduler" });
  stranger = await authority.issue({ name: "system:node:n1" });
  await mountVersion(await authority.issue({ name: "berth" }), authority.cert);
  const server = new ApiServer({ runtime: nodeRuntime });
  api = await listen({
    handler: (request, signal) => {
      if (request.path.includes("reviews")) reviews.push(request);
      return server.exchange(request, signal);
    },
    host: "127.0.0.1",
    port: 0,
    bodyLimitBytes: 1 << 20,
  });
  writeFileSync(
    join(folder, "kubeconfig"),
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${api.port}` } }],
      users: [{ name: "u", user: { token: secrets.apiToken } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  );
  ports = await freePorts(2);
  const files = { certFile: fileOf("tls.crt"), keyFile: fileOf("tls.key") };
  const config = configurationOf({
    listen: `127.0.0.1:${ports[0]}`,
    debugListen: `127.0.0.1:${ports[1]}`,
    logLevel: "debug",
    tls: { ...files, clientCAFile: fileOf("ca.crt"), allowedNames: ["system:kube-scheduler"] },
    debugTls: files,
  });
  writeFileSync(join(folder, "berth.yaml"), config);
  const argv = ["--kubeconfig", join(folder, "kubeconfig"), "--config", join(folder, "berth.yaml")];
  serving = runCommand(serveCommand, argv, { runtime, signal: stop.signal });
  await until("Berth is ready", async () => (await ask("debug", "GET", "/readyz")) === 200, 15_000);
});

afterAll(async () => {
  stop.abort();
  await serving;
  await api.closeNow();
  rmSync(folder, { recursive: true });
});

interface Said {
  readonly status: number;
  readonly text: string;
}

function send(
  listener: "extender" | "debug",
  method: string,
  path: string,
  options: RequestOptions = {},
  body?: string,
): Promise<Said> {
  return new Promise((resolve, reject) => {
    const port = ports[listener === "extender" ? 0 : 1];
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const asked = { host: "127.0.0.1", port, method, path, agent: false, ca: authority.cert, headers, ...options };
    const request = httpsRequest(asked, (reply) => {
      let text = "";
      reply.on("data", (part) => {
        text += part;
      });
      reply.on("end", () => resolve({ status: reply.statusCode ?? 0, text }));
      reply.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

const ask = async (...asked: Parameters<typeof send>): Promise<number> => (await send(...asked)).status;
const withToken = { headers: { authorization: `Bearer ${secrets.debugToken}` } };
const metric = async (name: string): Promise<number> => {
  const { text } = await send("debug", "GET", "/metrics", withToken);
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  return Number(line?.split(" ")[1] ?? 0);
};
const reloads = (outcome: string): Promise<number> =>
  metric(`berth_tls_reloads_total{listener="extender",outcome="${outcome}"}`);

const filter = JSON.stringify({ Pod: makePod("p", []), NodeNames: ["n1", "n2"] });

test("the extender answers whoever has a certificate of an allowed name, and nobody else", async () => {
  expect(await ask("extender", "POST", "/v1/filter", client, filter)).toBe(200);
  const foreign = await (await Authority.make("foreign")).issue({ name: "system:kube-scheduler" });
  for (const verb of ["filter", "prioritize", "preempt", "bind"]) {
    const asked = [{}, foreign, stranger].map((pair) => ask("extender", "POST", `/v1/${verb}`, pair, filter));
    expect(await Promise.all(asked)).toEqual([401, 401, 403]);
  }
  const refused = (cause: string) => metric(`berth_callers_refused_total{listener="extender",cause="${cause}"}`);
  const counts = [
    await refused("noCertificate"),
    await refused("certificateUntrusted"),
    await refused("nameNotAllowed"),
  ];
  expect(counts).toEqual([4, 4, 4]);
});

test("probes are answered without a certificate, on both listeners", async () => {
  for (const listener of ["extender", "debug"] as const) {
    expect([await ask(listener, "GET", "/livez"), await ask(listener, "GET", "/readyz")]).toEqual([200, 200]);
  }
});

test("metrics and explanations are for tokens that the API server knows, and its certificate for nobody", async () => {
  const paths = ["/metrics", "/debug/state", "/debug/explain/d/p", "/nowhere"];
  for (const path of paths) {
    expect([await ask("debug", "GET", path), await ask("debug", "GET", path, client)]).toEqual([401, 401]);
  }
  expect(await ask("debug", "POST", "/debug/simulate", {}, "{}")).toBe(401);
  const statuses = await Promise.all(paths.map((path) => ask("debug", "GET", path, withToken)));
  expect(statuses).toEqual([200, 200, 404, 404]);
  const asked = reviews.map(({ body }) => JSON.parse(Buffer.from(body as Uint8Array).toString()));
  expect(asked.find(({ kind }) => kind === "TokenReview").spec).toEqual({ token: secrets.debugToken });
  const access = asked.filter(({ kind }) => kind === "SubjectAccessReview").map(({ spec }) => spec);
  expect(access).toContainEqual({
    user: "berth-sandbox",
    groups: ["system:masters", "system:authenticated"],
    nonResourceAttributes: { path: "/debug/explain/d/p", verb: "get" },
  });
});

test("a body that comes without leave is not read, and 2 MiB are too many for the debug listener", async () => {
  const large = " ".repeat((2 << 20) + 1);
  // The server may close before all of it is sent.
  expect(await ask("debug", "POST", "/debug/simulate", withToken, large).catch(() => 413)).toBe(413);
  expect(await ask("extender", "POST", "/v1/filter", {}, filter)).toBe(401);
});

test("files that change under load: new connections get the new certificate, and of all calls none fails", async () => {
  const agents = Array.from({ length: 4 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  const statuses: (number | string)[] = [];
  let isOver = false;
  const load = agents.map(async (agent, nth) => {
    while (!isOver) {
      const options = { ...client, ...(nth % 2 === 0 && { agent }) };
      statuses.push(await ask("extender", "POST", "/v1/filter", options, filter).catch(String));
      // The machine is others' too.
      await nodeRuntime.sleep(3);
    }
  });
  const next = await Authority.make("next");
  const expiry = (): Promise<number> => metric('berth_tls_certificate_expiry_timestamp_seconds{listener="extender"}');
  const hours = [30, 40, 50, 60];
  for (const [nth, hour] of hours.entries()) {
    const lifeMs = hour * 3_600_000;
    // The last two know another authority too: connections begun before end with a reply.
    const ca = nth < 2 ? authority.cert : `${authority.cert}${nth === 2 ? next.cert : ""}`;
    await mountVersion(await authority.issue({ name: "berth", lifeMs }), ca);
    const isServed = async (): Promise<boolean> => Math.abs((await expiry()) - (Date.now() + lifeMs) / 1_000) < 60;
    await expect.poll(isServed, { timeout: 10_000 }).toBe(true);
  }
  expect(await reloads("renewed")).toBeGreaterThanOrEqual(hours.length);
  const before = statuses.length;
  await expect.poll(() => statuses.length, { timeout: 10_000 }).toBeGreaterThan(before + 40);
  isOver = true;
  await Promise.all(load);
  for (const agent of agents) agent.destroy();
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
});

test("a pair that does not go together is told of and counted, and the one before it stays", async () => {
  const other = await authority.issue({ name: "berth" });
  const good = readFileSync(fileOf("tls.crt"), "utf8");
  const key = readFileSync(fileOf("tls.key"), "utf8");
  await mountVersion({ cert: good, key: other.key }, authority.cert);
  await expect.poll(() => reloads("refused"), { timeout: 15_000 }).toBeGreaterThan(0);
  expect(await ask("extender", "POST", "/v1/filter", client, filter)).toBe(200);
  const renewed = await reloads("renewed");
  await mountVersion({ cert: good, key }, authority.cert);
  await mountVersion(other, authority.cert);
  await expect.poll(() => reloads("renewed"), { timeout: 10_000 }).toBe(renewed + 1);
});

test.for([
  ["tls", "certFile", "tls.certFile /nowhere: no such file"],
  ["tls", "keyFile", "tls.keyFile /nowhere: no such file"],
  ["debugTls", "clientCAFile", "debugTls.clientCAFile /nowhere: no such file"],
] as const)("with %s a %s that is not there is one line and 2", async ([section, key, want]) => {
  const all = {
    certFile: fileOf("tls.crt"),
    keyFile: fileOf("tls.key"),
    clientCAFile: fileOf("ca.crt"),
    allowedNames: ["a"],
  };
  const listeners = { listen: "127.0.0.1:0", debugListen: "127.0.0.1:0", leaderElection: { mode: "off" } };
  const path = join(folder, "wrong.yaml");
  writeFileSync(path, configurationOf({ ...listeners, [section]: { ...all, [key]: "/nowhere" } }));
  const argv = ["--kubeconfig", join(folder, "kubeconfig"), "--config", path];
  const { code, stderr } = await runCommand(serveCommand, argv, { runtime: nodeRuntime });
  expect([code, stderr]).toEqual([2, `berth serve: ${want}\n`]);
});

test("of tokens and keys there is nothing in the log, on any page, or in what is written to the API", async () => {
  const pages = ["/metrics", "/debug/state", "/debug/explain/d/p", "/debug/claim/d/c", "/nowhere"];
  const said = await Promise.all(pages.map(async (path) => (await send("debug", "GET", path, withToken)).text));
  stop.abort();
  const { stdout, stderr } = await serving;
  expect(stdout).toContain("Turned a caller away");
  const texts = [stdout, stderr, ...said];
  const keyLines = readFileSync(fileOf("tls.key"), "utf8")
    .split("\n")
    .filter((line) => line.length > 30);
  expect(keyLines.length).toBeGreaterThan(1);
  for (const secret of [...Object.values(secrets), ...keyLines, "PRIVATE KEY", "Bearer "]) {
    expect(texts.filter((text) => text.includes(secret)).map((text) => text.slice(0, 200))).toEqual([]);
  }
});
