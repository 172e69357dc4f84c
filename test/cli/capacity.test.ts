/** `berth capacity` from a running Berth and from files, and what docs/capacity.md shows of it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { capacityCommand } from "../../src/cli/capacity.ts";
import { type Listener, listen } from "../../src/http/listener.ts";
import { nodeRuntime } from "../../src/runtime/node-runtime.ts";
import { TestServer } from "../server/support.ts";
import { sampleIn } from "../support/doc-samples.ts";
import { makeCapacity, makeClass, makeDriver, makeNode, makePV, makePVC, type Raw } from "../support/make.ts";
import { type Outcome, runCommand } from "./support.ts";

const page = "docs/capacity.md";
const folder = mkdtempSync(join(tmpdir(), "berth-capacity-"));
const listeners: Listener[] = [];
afterEach(async () => {
  for (const one of listeners.splice(0)) await one.closeNow();
});
afterAll(() => rmSync(folder, { recursive: true }));

async function serve(server: TestServer): Promise<string> {
  const listener = await listen({ handler: server.debug, host: "127.0.0.1", port: 0, bodyLimitBytes: 1 << 20 });
  listeners.push(listener);
  return `http://127.0.0.1:${listener.port}`;
}

const run = (...argv: string[]): Promise<Outcome> => runCommand(capacityCommand, argv, { runtime: nodeRuntime });

const objects: readonly Raw[] = [
  makeClass("local"),
  makeClass("lvm", { provisioner: "lvm.example" }),
  makeDriver("lvm.example", true),
  ...["node-1", "node-2", "node-3"].map((name) => makeNode(name)),
  makePV("disk-1", { on: "node-1", capacity: "100Gi", claim: "data-0", claimUid: "u" }),
  makePVC("data-0", { volume: "disk-1", uid: "u", request: "80Gi" }),
  makePV("disk-2", { on: "node-1", capacity: "50Gi" }),
  makePV("disk-3", { on: "node-2", capacity: "100Gi", claim: "old", claimUid: "gone", phase: "Released" }),
  makePV("disk-4", { on: "node-3", capacity: "200Gi", claim: "later" }),
  makeCapacity("vg-1", { class: "lvm", on: "node-1", capacity: "500Gi", max: "100Gi" }),
  makeCapacity("vg-2", { class: "lvm", on: "node-2", capacity: "300Gi" }),
];

function filed(): string {
  const path = join(folder, "all.json");
  writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  return path;
}

const samples: Record<string, string[]> = { "by class": [], "by node": ["--class", "local"] };

test.for(Object.entries(samples))(
  "docs/capacity.md shows what is printed, from files as from Berth: %s",
  async ([name, argv]) => {
    const online = await run(...argv, "--url", await serve(new TestServer().add(...objects)));
    const offline = await run(...argv, "-f", filed());
    expect([online.code, online.stderr, offline]).toEqual([0, "", online]);
    expect(sampleIn(page, name, online.stdout)).toBe(online.stdout);
  },
);

test("one node has what it reaches, of every class", async () => {
  const { stdout } = await run("--node", "node-1", "-f", filed());
  expect(stdout).toBe(`CLASS  NODE    VOLUMES  TOTAL  BOUND  RESERVED  FREE   LARGEST  STRANDED
local  node-1  2        150Gi  100Gi  -         50Gi   50Gi     -
lvm    node-1  0        500Gi  -      -         500Gi  100Gi    -
`);
});

test("JSON has bytes, exactly, and what claims did not ask for", async () => {
  const { stdout } = await run("--class", "local", "--node", "node-1", "-o", "json", "-f", filed());
  expect(JSON.parse(stdout)).toEqual({
    by: "node",
    rows: [
      {
        class: "local",
        on: { count: 1, nodes: ["node-1"] },
        total: String(150n << 30n),
        bound: String(100n << 30n),
        reserved: "0",
        free: String(50n << 30n),
        largest: String(50n << 30n),
        stranded: "0",
        surplus: String(20n << 30n),
        volumes: 2,
        pools: 0,
      },
    ],
  });
});

test("of many places all are fetched, page by page, and a page has a thousand at most", async () => {
  const server = new TestServer().add(makeClass("local"));
  for (let index = 0; index < 2_300; index++) {
    server.add(makeNode(`n${index}`), makePV(`v${index}`, { on: `n${index}`, capacity: "1Gi" }));
  }
  const reply = await server.get("/debug/capacity?by=node&from=2000");
  expect([reply.json.rows.length, reply.json.count, reply.json.from]).toEqual([300, 2_300, 2_000]);
  expect((await server.get("/debug/capacity?by=node")).json.rows).toHaveLength(1_000);
  const { stdout } = await run("--by", "node", "-o", "json", "--url", await serve(server));
  const { rows } = JSON.parse(stdout);
  expect(new Set(rows.map((row: { on: { nodes: string[] } }) => row.on.nodes[0])).size).toBe(2_300);
  expect((await run("--url", await serve(server))).stdout.split("\n")).toHaveLength(3);
});

const misuses: Record<string, { argv: string[]; want: string }> = {
  "a class that is near another": {
    argv: ["--class", "locla"],
    want: 'no class "locla" is known; did you mean "local"?',
  },
  "a node that nobody knows": { argv: ["--node", "elsewhere"], want: 'no node "elsewhere" is known' },
  "rows of another kind": { argv: ["--by", "zone"], want: 'by=zone: use "class" or "node"' },
};

test.for(Object.entries(misuses))("2, and one line, online and offline: %s", async ([, { argv, want }]) => {
  const url = await serve(new TestServer().add(...objects));
  for (const from of [
    ["-f", filed()],
    ["--url", url],
  ]) {
    const { code, stdout, stderr } = await run(...argv, ...from);
    expect([code, stdout, stderr]).toEqual([2, "", `berth capacity: ${want}\n`]);
  }
});

test("2 for what does not go together, and for a Berth that is not ready", async () => {
  expect((await run("-f", filed(), "--url", "http://x")).stderr).toContain("from files, or from a running Berth");
  expect((await run("--config", "x")).stderr).toContain("--config goes with -f");
  expect((await run("-o", "yaml")).stderr).toContain('use "table" or "json"');
  const server = new TestServer().add(...objects);
  server.readiness = { ready: false, why: "not synced yet: volume" };
  const { code, stdout, stderr } = await run("--url", await serve(server));
  expect([code, stdout.startsWith("CLASS"), stderr]).toEqual([
    2,
    true,
    "berth capacity: Berth is not ready, so what it said may be out of date: not synced yet: volume\n",
  ]);
  expect((await server.get("/debug/capacity?from=-1")).status).toBe(404);
});

test("nothing at all is said in words", async () => {
  const server = new TestServer();
  expect((await run("--url", await serve(server))).stdout).toBe("No volumes, and no capacity is published\n");
});
