/** kube-scheduler's own extender client over TLS: which HTTP it speaks, and that it loses no call while certificates change. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect } from "vitest";
import { protocolsTable, runProtocols } from "../../bench/protocols.ts";
import { listen } from "../../src/http/listener.ts";
import { Authority, writePair } from "../support/certificates.ts";
import { type ExtenderClient, findExtenderClient } from "./extender-client.ts";
import { onPlane } from "./on-plane.ts";

let found: ExtenderClient | string = "nobody looked for it";
beforeAll(async () => {
  found = await findExtenderClient(process.env, (line) => void process.stderr.write(`cluster: ${line}\n`));
}, 1_800_000);

const lacks = (): string | undefined => (typeof found === "string" ? found : undefined);

function client(): ExtenderClient {
  if (typeof found === "string") throw new Error(found);
  return found;
}

onPlane(
  "kube-scheduler's client takes HTTP/2 where it is offered, and loses no call over HTTP/1.1",
  { lacks },
  async () => {
    const shown = await runProtocols(client(), { rounds: 1, share: 0.02 });
    const versions = new Map(shown.map(({ protocol, versions: seen }) => [protocol, [...seen].join()]));
    expect(versions).toEqual(
      new Map([
        ["plain 1.1", "1.1"],
        ["TLS 1.1", "1.1"],
        ["TLS 2", "2.0"],
      ]),
    );
    const failed = shown.filter(({ protocol, failed: count }) => protocol !== "TLS 2" && count > 0);
    expect(failed, protocolsTable(shown)).toEqual([]);
  },
);

onPlane("kube-scheduler's client loses no call while certificates and authorities change", { lacks }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-rotation-"));
  const [authority, next] = [await Authority.make(), await Authority.make("next")];
  const tls = async (nth: number) => ({
    ...(await authority.issue({ name: "berth" })),
    // Every other time the authorities are others, of which the caller's stays one.
    ca: nth % 2 === 0 ? authority.cert : `${authority.cert}\n${next.cert}`,
  });
  const refused: unknown[] = [];
  const listener = await listen({
    handler: async () => ({ status: 200, headers: {}, body: '{"Error":""}' }),
    admit: ({ peer }) => {
      if (peer?.problem !== undefined) refused.push(peer.problem);
      return { kind: "admitted", isLong: false, leave: () => {} };
    },
    host: "127.0.0.1",
    port: 0,
    bodyLimitBytes: 1 << 20,
    tls: await tls(0),
  });
  try {
    const files = writePair(folder, await authority.issue({ name: "scheduler" }), authority.cert);
    let isOver = false;
    let renewals = 0;
    const called = client()({
      URLPrefix: `https://127.0.0.1:${listener.port}/v1`,
      TLS: { CAFile: files.clientCAFile, CertFile: files.certFile, KeyFile: files.keyFile },
      Verb: "bind",
      Calls: 600,
      InParallel: 4,
    }).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      listener.renewTls(await tls(++renewals));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await called).toMatchObject({ failed: 0, firstError: "" });
    expect(refused).toEqual([]);
    expect(renewals).toBeGreaterThan(5);
  } finally {
    await listener.closeNow();
    rmSync(folder, { recursive: true });
  }
});
