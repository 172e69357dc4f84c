/** A wake as the API sees it: one condition however often, only on the very Pod, and counted. */
import { expect, test } from "vitest";
import { defaults } from "../../src/config.ts";
import { silentLog } from "../../src/runtime/log.ts";
import type { Exchange } from "../../src/runtime/runtime.ts";
import { type Berth, startBerth } from "../../src/server/berth.ts";
import { type Body, World } from "../binding/world.ts";
import { extenderArgs } from "./support.ts";

class Stage {
  readonly world = new World();
  readonly patches: string[] = [];
  berth!: Berth;

  /** Pod p that wants a disk of n1, which has none, with a condition of its kubelet. */
  async start(): Promise<this> {
    const { world } = this;
    await world.nodes("n1");
    await world.pvc("x");
    await world.pod("p", ["x"]);
    await world.patch("pod", "d/p", { status: { conditions: [{ type: "PodScheduled", status: "False" }] } }, "/status");
    const exchange: Exchange = (request, signal) => {
      if (request.method === "PATCH") this.patches.push(request.path);
      return world.server.exchange(request, signal);
    };
    const log = { ...silentLog, isDebug: false };
    this.berth = await startBerth({ exchange, runtime: world.runtime, config: defaults, log, version: "test" });
    await world.runtime.advance(1_000);
    return this;
  }

  /** Asks as kube-scheduler does. @returns whether n1 fits */
  async filter(): Promise<boolean> {
    const body = JSON.stringify(extenderArgs(await this.world.get("pod", "d/p"), ["n1"]));
    const request = { method: "POST", path: "/v1/filter", headers: {}, body };
    const reply = await this.berth.extender(request, new AbortController().signal);
    return JSON.parse(String(reply.body)).NodeNames?.includes("n1") ?? false;
  }

  async conditions(): Promise<string[]> {
    const { status } = await this.world.get("pod", "d/p");
    return (status.conditions ?? []).map(({ type }: Body) => type).sort();
  }

  async wakesCounted(): Promise<string | undefined> {
    const request = { method: "GET", path: "/metrics", headers: {} };
    const { body } = await this.berth.debug(request, new AbortController().signal);
    return /^berth_wakes_total\{outcome="ok"\} (\d+)$/m.exec(String(body))?.[1];
  }
}

test("a Pod that is woken twice has one condition more, keeps its others, and both wakes are counted", async () => {
  const stage = await new Stage().start();
  const { world } = stage;
  for (const disk of ["a", "b"]) {
    expect(await stage.filter()).toBe(false);
    await world.pv(disk, { on: "n1" });
    await world.runtime.advance(4_000);
    expect(await stage.filter()).toBe(true);
    await world.remove("volume", disk);
    await world.runtime.advance(1_000);
  }
  expect(await stage.conditions()).toEqual(["PodScheduled", "berth.dev/VolumesAvailable"]);
  expect(stage.patches).toEqual(Array.from({ length: 2 }, () => "/api/v1/namespaces/d/pods/p/status"));
  expect(await stage.wakesCounted()).toBe("2");
});

test("a Pod that took the name of one that was refused is left alone", async () => {
  const stage = await new Stage().start();
  const { world } = stage;
  expect(await stage.filter()).toBe(false);
  await world.remove("pod", "d/p");
  await world.pod("p", ["x"]);
  await world.pv("a", { on: "n1" });
  await world.runtime.advance(60_000);
  expect(await stage.conditions()).toEqual([]);
  expect(stage.patches).toEqual([]);
});
