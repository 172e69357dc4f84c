/** FR-105: whole nodes with every call, up to a limit, over real sockets. */
import { afterEach, expect, test } from "vitest";
import { type Served, serveBerth } from "../../src/cli/listeners.ts";
import { parseConfig } from "../../src/config/load.ts";
import { defaults } from "../../src/config.ts";
import { createLog } from "../../src/log.ts";
import { nodeRuntime } from "../../src/runtime/node-runtime.ts";
import { createServer } from "../../src/server/server.ts";
import { extenderArgs, TestServer } from "../server/support.ts";
import { makeNode, makePod, makePV, makePVC } from "../support/make.ts";
import { configurationOf } from "../support/scenario.ts";

let served: Served | undefined;
afterEach(() => served?.stop());

const port0 = { host: "127.0.0.1", port: 0 };
const bodyBytesMax = 200_000;
/** As a kubelet fills it: images and all. */
const bulky = (name: string) => ({
  ...makeNode(name),
  status: { conditions: [{ type: "Ready", status: "True" }], images: [{ names: ["x".repeat(20 << 10)] }] },
});

/** On real sockets, with this bound of bodies. */
async function serve(core: TestServer, bodyMax: number): Promise<Record<string, unknown>[]> {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "info",
    stream: { write: (line) => void lines.push(JSON.parse(line)) },
    runtime: nodeRuntime,
  });
  const { extender, debug, admit } = createServer(core.parts);
  const berth = { extender, debug, admit, stop: async () => {} };
  const limits = { ...defaults.limits, bodyBytesMax: bodyMax };
  const config = { ...defaults, listen: port0, debugListen: port0, limits };
  served = await serveBerth({ berth, config, log, metrics: core.metrics, runtime: nodeRuntime });
  return lines;
}

const isWarning = ({ level }: Record<string, unknown>): boolean => level === "warn";

test("FR-105: whole nodes are fine up to the limit; above it 413, and the log names nodeCacheCapable", async () => {
  const core = new TestServer().add(makePV("a", { on: "n3" }), makePVC("x"));
  const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
  for (const name of names) core.add(makeNode(name));
  const lines = await serve(core, bodyBytesMax);
  const url = `http://127.0.0.1:${served?.extender.port}/v1/filter`;
  const filter = async (asked: readonly string[]): Promise<{ status: number; nodes: string[] }> => {
    const body = JSON.stringify(extenderArgs(makePod("p", ["x"]), null, asked.map(bulky)));
    const reply = await fetch(url, { method: "POST", body, headers: { "content-type": "application/json" } });
    const json = (await reply.json()) as { Nodes?: { items: { metadata: { name: string } }[] } | null };
    return {
      status: reply.status,
      nodes: (json.Nodes?.items ?? []).map(({ metadata }) => metadata.name),
    };
  };
  expect(await filter(names.slice(0, 8))).toEqual({ status: 200, nodes: ["n3"] });
  expect((await filter(names)).status).toBe(413);
  expect(lines.filter(isWarning)).toEqual([
    expect.objectContaining({ path: "/v1/filter", bodyBytesMax, msg: expect.stringContaining("nodeCacheCapable") }),
  ]);
  const [, key = ""] = /raise limits\.(\S+)$/.exec(String(lines.find(isWarning)?.["msg"])) ?? [];
  expect(parseConfig(configurationOf({ limits: { [key]: "128Mi" } }), "berth.yaml").limits.bodyBytesMax).toBe(
    128 << 20,
  );
  expect(await filter(names.slice(0, 8))).toEqual({ status: 200, nodes: ["n3"] });
});

test("what is too large for the debug listener is told of with that listener's bound, and kube-scheduler is not blamed", async () => {
  const lines = await serve(new TestServer(), defaults.limits.bodyBytesMax);
  const url = `http://127.0.0.1:${served?.debug.port}/debug/simulate`;
  const body = Buffer.alloc((2 << 20) + 1, " ");
  // The server may close before all of it is sent.
  const status = await fetch(url, { method: "POST", body }).then(
    (reply) => reply.status,
    () => 413,
  );
  expect(status).toBe(413);
  await expect.poll(() => lines.filter(isWarning)).toHaveLength(1);
  expect(lines.find(isWarning)).toMatchObject({ path: "/debug/simulate", bodyBytesMax: 2 << 20 });
  expect(String(lines.find(isWarning)?.["msg"])).not.toContain("kube-scheduler");
});
