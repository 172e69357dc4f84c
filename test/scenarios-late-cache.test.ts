/** FR-070: kube-scheduler asks the moment a disk appears, before Berth's watch has shown it. The Pod is not lost for five minutes. */
import { expect, test } from "vitest";
import type { Exchange, HttpReply } from "../src/runtime/runtime.ts";
import { makeClass, makeNode, makePod, makePV, makePVC, type Raw } from "./support/make.ts";
import { sandboxStage } from "./support/sandbox-stage.ts";

/** Berth's own watches show everything `lateMs` late. */
function late(exchange: Exchange, sleep: (ms: number) => Promise<void>, lateMs: number): Exchange {
  return async (request, signal): Promise<HttpReply> => {
    const reply = await exchange(request, signal);
    if (!request.path.includes("watch=true") || typeof reply.body === "string" || reply.body instanceof Uint8Array)
      return reply;
    const { body } = reply;
    async function* delayed(): AsyncGenerator<Uint8Array> {
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        await sleep(lateMs);
        yield chunk;
      }
    }
    return { ...reply, body: delayed() };
  };
}

/** As a user writes it: what the API server gives out left away, in namespace default. */
function unborn(object: Raw): Raw {
  const { name, labels, namespace } = object["metadata"] as { name: string; labels?: object; namespace?: string };
  return {
    ...object,
    metadata: { name, ...(labels && { labels }), ...(namespace !== undefined && { namespace: "default" }) },
  };
}

test("a Pod whose disk appears while our cache is behind is placed within a minute", { timeout: 60_000 }, async () => {
  const stage = await sandboxStage({}, (exchange, runtime) => late(exchange, (ms) => runtime.sleep(ms), 5_000));
  try {
    const claim = makePVC("x", { namespace: "default" });
    for (const object of [makeNode("n1"), makeClass("local"), claim, makePod("p", ["x"])])
      await stage.apply(unborn(object));
    await stage.pass(30_000);
    await stage.apply(unborn(makePV("a", { on: "n1" })));
    await stage.pass(60_000);
    expect(await stage.list("Pod")).toMatchObject([{ spec: { nodeName: "n1" } }]);
  } finally {
    await stage.stop();
  }
});
