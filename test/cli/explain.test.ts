/** `berth explain` against a real listener, and what docs/explain.md shows of it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { explainCommand } from "../../src/cli/explain.ts";
import { columns } from "../../src/cli/wrap.ts";
import { type Listener, listen } from "../../src/http/listener.ts";
import { nodeRuntime } from "../../src/runtime/node-runtime.ts";
import type { Exchange } from "../../src/runtime/runtime.ts";
import { extenderArgs, TestServer } from "../server/support.ts";
import { Authority, type Pair } from "../support/certificates.ts";
import { sampleIn } from "../support/doc-samples.ts";
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeNode,
  makePod,
  makePV,
  makePVC,
  type Raw,
} from "../support/make.ts";
import { type Outcome, runCommand } from "./support.ts";

const page = "docs/explain.md";
const listeners: Listener[] = [];
const folder = mkdtempSync(join(tmpdir(), "berth-explain-"));
let authority: Authority;
let pair: Pair;

beforeAll(async () => {
  authority = await Authority.make();
  pair = await authority.issue({ name: "berth" });
});
afterEach(async () => {
  for (const one of listeners.splice(0)) await one.closeNow();
});
afterAll(() => rmSync(folder, { recursive: true }));

async function serve(handler: Exchange, more: Partial<Parameters<typeof listen>[0]> = {}): Promise<string> {
  const listener = await listen({ handler, host: "127.0.0.1", port: 0, bodyLimitBytes: 1 << 20, ...more });
  listeners.push(listener);
  return `${more.tls ? "https" : "http"}://127.0.0.1:${listener.port}`;
}

const run = (...argv: string[]): Promise<Outcome> => runCommand(explainCommand, argv, { runtime: nodeRuntime });

async function explain(server: TestServer, ...argv: string[]): Promise<Outcome> {
  return run(...argv, "--url", await serve(server.debug));
}

/** Nodes node-1 to node-`count`. */
function cluster(count: number, ...objects: Raw[]): TestServer {
  const nodes = Array.from({ length: count }, (_, index) => makeNode(`node-${index + 1}`));
  return new TestServer().add(makeClass("local"), makeClass("fast"), ...nodes, ...objects);
}

const running = (name: string, node: string, cpu: string, priority: number): Raw => ({
  ...makePod(name, [], { node }),
  spec: { nodeName: node, priority, containers: [{ name: "c", resources: { requests: { cpu } } }] },
});
const asking = (pod: Raw, cpu: string): Raw => ({
  ...pod,
  spec: { ...(pod["spec"] as Raw), priority: 50, containers: [{ name: "c", resources: { requests: { cpu } } }] },
});

function small(): TestServer {
  return cluster(
    4,
    makePV("disk-1", { on: "node-1", capacity: "60Gi" }),
    makePV("disk-2", { on: "node-2", capacity: "200Gi", claim: "data-0", claimUid: "u" }),
    makePV("disk-3", { on: "node-3", capacity: "80Gi" }),
    makePVC("data-0", { volume: "disk-2", uid: "u" }),
    makePVC("data-1", { request: "100Gi" }),
    makePod("db-1", ["data-1"]),
  );
}

function pinned(): TestServer {
  const pod = asking(makePod("db-0", ["data-0"]), "4");
  const server = cluster(
    3,
    makePV("disk-2", { on: "node-2", claim: "data-0", claimUid: "u" }),
    makePVC("data-0", { volume: "disk-2", uid: "u" }),
    pod,
  );
  server.podNamed = () => ({ ok: true, pods: [pod], isWhole: true });
  const there = [running("batch", "node-2", "3", 0), running("web", "node-2", "2", 100)];
  server.podsOn = (node) => ({ ok: true, pods: node === "node-2" ? there : [], isWhole: true });
  return server;
}

function apart(): TestServer {
  const server = cluster(
    3,
    makePV("disk-1", { on: "node-1", claim: "data", claimUid: "u" }),
    makePV("ssd-2", { on: "node-2", class: "fast" }),
    makePVC("data", { volume: "disk-1", uid: "u" }),
    makePVC("log", { class: "fast" }),
    makePod("db-0", ["data", "log"]),
  );
  server.podNamed = () => ({ ok: true, pods: [makePod("db-0", ["data", "log"])], isWhole: true });
  return server;
}

const samples: Record<string, { server: () => TestServer; pod: string; code: number }> = {
  small: { server: small, pod: "d/db-1", code: 1 },
  pinned: { server: pinned, pod: "d/db-0", code: 0 },
  apart: { server: apart, pod: "d/db-0", code: 1 },
};

test.for(Object.entries(samples))(
  "docs/explain.md shows what is printed: %s",
  async ([name, { server, pod, code }]) => {
    const outcome = await explain(server(), pod);
    expect([outcome.code, outcome.stderr]).toEqual([code, ""]);
    expect(sampleIn(page, name, outcome.stdout)).toBe(outcome.stdout);
  },
);

/** Half of the nodes have too small a disk, the others no driver. */
function large(count: number): TestServer {
  const server = new TestServer().add(
    makeClass("csi", { provisioner: "csi.example" }),
    makeDriver("csi.example", true),
    makePVC("x", { class: "csi", request: "100Gi" }),
    makePod("p", ["x"]),
  );
  for (let index = 0; index < count; index++) {
    const node = `node-${index}`;
    server.add(makeNode(node));
    if (index % 2 === 0) continue;
    server.add(
      makeCsiNode(node, "csi.example"),
      makeCapacity(`c-${index}`, { class: "csi", on: node, capacity: "50Gi" }),
    );
  }
  return server;
}

test("many thousand nodes are a page of lines that a terminal shows whole", async () => {
  const { code, stdout } = await explain(large(3_000), "d/p");
  expect(code).toBe(1);
  const lines = stdout.split("\n");
  expect(lines.length).toBeLessThan(40);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
  expect(stdout).toMatch(/^Pod d\/p fits none of 3,000 nodes\n/);
  expect(stdout).toContain("1,500 nodes: node(s) did not have enough free storage");
  expect(stdout).toContain("1,500 nodes: node(s) didn't find available persistent volumes to bind");
});

test("what no blank breaks is broken all the same", async () => {
  const name = "a".repeat(250);
  const server = cluster(1, makePVC(name), makePod("p", [name]));
  const { stdout } = await explain(server, "d/p");
  expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(columns);
});

test("names do nothing to the terminal, in either form", async () => {
  const evil = "a\u001b]0;owned\u0007\u202eb\nPod d:p fits all";
  const server = cluster(
    1,
    makePV(evil, { on: "node-1", class: evil }),
    makePV("small", { on: "node-1", capacity: "1Gi" }),
    makePVC(evil, { class: evil, volume: evil }),
    makePVC("x", { class: `${evil}2` }),
    makePod("p", ["x", evil]),
    makeNode(evil),
  );
  const table = await explain(server, "d/p");
  expect(table.stdout.split("\n").filter((line) => line.startsWith("Pod "))).toHaveLength(1);
  expect(table.stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  const json = await explain(server, "d/p", "-o", "json");
  expect(json.stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(JSON.parse(json.stdout).claims[0].claim).toBe(`d/${evil}`);
});

test("JSON is the report of the debug listener", async () => {
  const server = small();
  const { stdout, code } = await explain(server, "d/db-1", "-o", "json");
  expect([code, JSON.parse(stdout)]).toEqual([1, (await server.get("/debug/explain/d/db-1")).json]);
});

test("0 where a node fits, and where the Pod has its node; a node that was not offered is named", async () => {
  const server = cluster(2, makePV("a", { on: "node-1" }), makePVC("x"), makePod("p", ["x"]));
  await server.post("/v1/filter", extenderArgs(makePod("p", ["x"]), ["node-2"]));
  const fits = await explain(server, "d/p");
  expect([fits.code, fits.stdout]).toEqual([0, expect.stringContaining("Pod d/p fits 1 of 2 nodes\n")]);
  expect(fits.stdout).toContain("Would do, but kube-scheduler did not offer: node-1\n");
  expect(fits.stdout).toContain("kube-scheduler has not offered node-1, where its volumes would fit:\n");
  expect(fits.stdout).toContain(
    "kube-scheduler asked 1 time, last at 2026-01-01T00:00:00.000Z: 1 node offered, 0 feasible",
  );

  server.add(makePod("placed", ["x"], { node: "node-2" }));
  const placed = await explain(server, "d/placed");
  expect([placed.code, placed.stdout]).toEqual([0, expect.stringContaining("Pod d/placed is on node node-2\n")]);

  server.podNamed = () => ({ ok: true, pods: [running("runs", "node-1", "1", 0)], isWhole: true });
  const runs = await explain(server, "d/runs");
  expect([runs.code, runs.stdout]).toEqual([0, expect.stringContaining("Pod d/runs is on node node-1\n")]);
});

test("the Pod may be named as kubectl names it", async () => {
  const url = await serve(small().debug);
  const ways = [["db-1", "-n", "d"], ["pod/db-1", "--namespace", "d"], ["pods/d/db-1"], ["d/db-1", "-n", "d"]];
  for (const words of ways) expect((await run(...words, "--url", url)).code).toBe(1);
});

const reply =
  (status: number, body: string): Exchange =>
  async () => ({ status, headers: {}, body });
const status = (code: number, message: string): Exchange => reply(code, JSON.stringify({ kind: "Status", message }));

const troubles: Record<string, { handler?: Exchange; server?: () => TestServer; argv?: string[]; want: string }> = {
  "a Pod that nobody knows": {
    server: small,
    argv: ["d/none"],
    want: 'pod "d/none" is not among the pending Pods that Berth knows',
  },
  "a Pod that Berth has not heard of yet": {
    server: () => {
      const server = small();
      server.podNamed = () => ({ ok: true, pods: [makePod("new", [])], isWhole: true });
      return server;
    },
    argv: ["d/new"],
    want: 'pod "d/new" exists, and has not reached Berth yet: ask again',
  },
  "a Berth that is not ready and does not know the Pod": {
    server: () => {
      const server = small();
      server.readiness = { ready: false, why: "not synced yet: pod" };
      return server;
    },
    argv: ["d/none"],
    want: "not ready: not synced yet: pod",
  },
  "a caller who is turned away": {
    handler: status(403, "this user may not read this path"),
    want: "turned away by URL: this user may not read this path; give --token-file, or --cert and --key",
  },
  "another listener of Berth's": {
    handler: status(404, "no such path"),
    want: "URL has no such page: is this the debug listener (10291), and of a Berth as new as this one?",
  },
  "something else that answers": {
    handler: reply(200, "<html>"),
    want: "what answers at URL is not Berth's debug listener: 200, and no JSON",
  },
  "something else that answers in JSON": {
    handler: reply(404, "{}"),
    want: "what answers at URL is not Berth's debug listener: status 404",
  },
  "no Pod": { argv: [], want: 'name one Pod, as "NAMESPACE/POD"' },
  "two Pods": { argv: ["d/p", "d/q"], want: 'name one Pod, as "NAMESPACE/POD"' },
  "two namespaces": {
    argv: ["d/p", "-n", "e"],
    want: 'd/p: name the Pod as "NAMESPACE/POD", or as "POD -n NAMESPACE"',
  },
  "a format that does not exist": { argv: ["d/p", "-o", "yaml"], want: '-o yaml: use "table" or "json"' },
  "a certificate without its key": { argv: ["d/p", "--cert", "x"], want: "--cert and --key go together" },
  "a token over plain HTTP": {
    argv: ["d/p", "--token-file", "x"],
    want: "--url URL: certificates and tokens go over https only",
  },
};

test.for(Object.entries(troubles))("2, and one line: %s", async ([, { handler, server, argv = ["d/p"], want }]) => {
  const url = await serve(handler ?? (server ?? small)().debug);
  const { code, stdout, stderr } = await run(...argv, "--url", url);
  expect([code, stdout, stderr]).toEqual([2, "", `berth explain: ${want.replaceAll("URL", url)}\n`]);
});

test("a Berth that is not ready says what it can, and the command does not vouch for it", async () => {
  const server = small();
  server.readiness = { ready: false, why: "not heard of for 150 s: node" };
  const { code, stdout, stderr } = await explain(server, "d/db-1");
  expect([code, stdout]).toEqual([2, expect.stringContaining("Pod d/db-1 fits none of 4 nodes")]);
  expect(stderr).toBe(
    "berth explain: Berth is not ready, so what it said may be out of date: not heard of for 150 s: node\n",
  );
});

test("nobody listens: it says how to get there", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as { port: number };
  await new Promise((resolve) => taken.close(resolve));
  const { code, stderr } = await run("d/p", "--url", `http://127.0.0.1:${port}`);
  expect([code, stderr]).toEqual([
    2,
    `berth explain: nobody listens at http://127.0.0.1:${port}: "kubectl -n kube-system port-forward deploy/berth 10291" leads there, --url elsewhere\n`,
  ]);
});

test("over TLS it knows Berth by its authority and shows its own certificate, or a token", async () => {
  const client = await authority.issue({ name: "operator" });
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const [ca, cert, key] = [write("ca", authority.cert), write("cert", client.cert), write("key", client.key)];
  const token = write("token", "abc\n");
  const seen: (string | undefined)[] = [];
  const server = small();
  const tls = { ...pair, ca: authority.cert };
  const url = await serve((request, signal) => server.debug(request, signal), {
    tls,
    admit: (head) => {
      seen.push(head.peer?.subject, head.authorization);
      return { kind: "passed" };
    },
  });
  expect((await run("d/db-1", "--url", url, "--ca", ca, "--cert", cert, "--key", key)).code).toBe(1);
  expect((await run("d/db-1", "--url", url, "--ca", ca, "--token-file", token)).code).toBe(1);
  expect(seen.map((one) => one?.replace(/^CN=/, ""))).toEqual(["operator", undefined, "", "Bearer abc"]);
  const untrusted = await run("d/db-1", "--url", url);
  expect([untrusted.code, untrusted.stderr]).toEqual([2, expect.stringContaining("is not trusted (")]);
  const plain = await run("d/db-1", "--url", url.replace("https", "http"));
  expect([plain.code, plain.stderr]).toEqual([2, expect.stringMatching(/is it https\?$/m)]);
  const missing = await run("d/db-1", "--url", url, "--ca", join(folder, "none"));
  expect(missing.stderr).toBe(`berth explain: --ca ${join(folder, "none")}: no such file\n`);
});

test("--help goes to stdout", async () => {
  const { code, stdout } = await run("--help");
  expect([code, stdout.slice(0, 20)]).toEqual([0, "Usage: berth explain"]);
});

test("a Pod pinned to a node is told of with what the API says now, and where that fails, that", async () => {
  const server = pinned();
  server.podsOn = () => ({ ok: false, why: "pods is forbidden" });
  expect((await explain(server, "d/db-0")).stdout).toContain(
    "  not known: its Pods could not be listed: pods is forbidden\n",
  );
  server.podNamed = () => ({ ok: false, why: "no answer" });
  expect((await explain(server, "d/db-0")).stdout).toContain("  not known: the Pod could not be read: no answer\n");
  const busy = pinned();
  busy.podsOn = () => ({ ok: true, pods: [{}, running("a", "node-2", "7", 0)], isWhole: false });
  const { stdout } = await explain(busy, "d/db-0");
  expect(stdout).toContain("  3 CPU short: the Pod asks for 4, 1 of 8 are free\n");
  expect(stdout).toContain("  not known: only its first 2 Pods were looked at; 1 of its Pods cannot be read\n");
});

test("nodes that were offered are not looked at again", async () => {
  const server = pinned();
  const asked: string[] = [];
  server.podsOn = (node) => {
    asked.push(node);
    return { ok: true, pods: [], isWhole: true };
  };
  await server.post("/v1/filter", extenderArgs(makePod("db-0", ["data-0"]), ["node-1", "node-2"]));
  await explain(server, "d/db-0");
  expect(asked).toEqual([]);
});
