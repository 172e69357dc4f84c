/** The cache, the client and the transport over real sockets, against the in-memory API server behind a real listener. */
import { expect, test } from "vitest";
import { Cluster } from "../../src/cluster/cluster.ts";
import { listen } from "../../src/http/listener.ts";
import { ApiClient } from "../../src/kube/client.ts";
import { Transport } from "../../src/kube/transport.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { nodeRuntime } from "../../src/runtime/node-runtime.ts";
import { ApiServer } from "../../src/sandbox/api-server.ts";
import { ClusterState } from "../../src/scheduling/state.ts";
import { makePV } from "../support/make.ts";

test("a cluster is followed over real connections, through a server that goes and comes back", async () => {
  const runtime = nodeRuntime;
  const api = new ApiServer({ runtime, protectsVolumes: false });
  const open = (port: number) =>
    listen({ handler: api.exchange, host: "127.0.0.1", port, bodyLimitBytes: 1 << 20, onFault: () => undefined });
  let listener = await open(0);
  const { port } = listener;
  const transport = new Transport({
    runtime,
    connection: { server: `http://127.0.0.1:${port}`, credentials: { kind: "none" } },
  });
  const client = new ApiClient({ runtime, exchange: transport.exchange, userAgent: "test", timeoutMs: 5_000 });
  const state = new ClusterState({ clock: () => runtime.now() });
  const options = { staleAfterMs: 150_000, liveReadsMax: 4, nodeAnnotations: new Set<string>(), streamsLists: false };
  const cluster = new Cluster({ runtime, client, state, log: silentLog, options });
  const create = (name: string) =>
    client.post("/api/v1/persistentvolumes", { ...makePV(name, { on: "n1" }), metadata: { name } });
  try {
    for (let index = 0; index < 600; index++) expect(await create(`v${index}`)).toMatchObject({ ok: true });
    cluster.start();
    await expect.poll(() => cluster.synced()).toBe(true);
    expect(state.size("volume")).toBe(600);

    await create("later");
    await expect.poll(() => state.get("volume", "later")).toBeDefined();
    expect(await cluster.live("volume", "later")).toMatchObject({ found: true });

    await listener.closeNow();
    expect(await cluster.live("volume", "later")).toMatchObject({ failed: expect.any(String) });
    listener = await open(port);
    await expect.poll(async () => (await create("after")).ok).toBe(true);
    await expect.poll(() => state.get("volume", "after"), { timeout: 10_000 }).toBeDefined();
    expect(cluster.status().get("volume")).toMatchObject({ relists: 0, objects: 602 });
  } finally {
    await cluster.stop();
    transport.close();
    await listener.closeNow();
  }
  await expect.poll(() => api.watchCount).toBe(0);
});
