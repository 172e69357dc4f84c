/** FR-105: whole nodes with every call, up to a limit, over real sockets. */
import { afterEach, expect, test } from "vitest";
import { type Served, serveBerth } from "../../src/cli/listeners.ts";
import { defaults } from "../../src/config.ts";
import { createLog } from "../../src/log.ts";
import { nodeRuntime } from "../../src/runtime/node-runtime.ts";
import { createServer } from "../../src/server/server.ts";
import { extenderArgs, TestServer } from "../server/support.ts";
import { makeNode, makePod, makePV, makePVC } from "../support/make.ts";

let served: Served | undefined;
afterEach(() => served?.stop());

const port0 = { host: "127.0.0.1", port: 0 };
const bodyBytesMax = 200_000;
/** As a kubelet fills it: images and all. */
const bulky = (name: string) => ({
  ...makeNode(name),
  status: { conditions: [{ type: "Ready", status: "True" }], images: [{ names: ["x".repeat(20 << 10)] }] },
});

test("FR-105: whole nodes are fine up to the limit; above it 413, and the log names nodeCacheCapable", async () => {
  const core = new TestServer().add(makePV("a", { on: "n3" }), makePVC("x"));
  const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
  for (const name of names) core.add(makeNode(name));
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "info",
    stream: { write: (line) => void lines.push(JSON.parse(line)) },
    runtime: nodeRuntime,
  });
  const { extender, debug, admit } = createServer(core.parts);
  const berth = { extender, debug, admit, stop: async () => {} };
  const config = { ...defaults, listen: port0, debugListen: port0, limits: { ...defaults.limits, bodyBytesMax } };
  served = await serveBerth({ berth, config, log, metrics: core.metrics, runtime: nodeRuntime });
  const url = `http://127.0.0.1:${served.extender.port}/v1/filter`;
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
  expect(lines.filter(({ level }) => level === "warn")).toEqual([
    expect.objectContaining({ path: "/v1/filter", bodyBytesMax, msg: expect.stringContaining("nodeCacheCapable") }),
  ]);
  expect(await filter(names.slice(0, 8))).toEqual({ status: 200, nodes: ["n3"] });
});
