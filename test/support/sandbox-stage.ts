/** The sandbox as a stage for scenarios: Berth's real code, the sandbox's controllers and scheduler, one virtual clock, no sockets. */
import { sandboxEntries } from "../../src/cli/sandbox-entries.ts";
import { type Config, defaults } from "../../src/config.ts";
import { createLog } from "../../src/log.ts";
import type { Exchange } from "../../src/runtime/runtime.ts";
import { type ControllerName, Sandbox, type SandboxOptions } from "../../src/sandbox/sandbox.ts";
import { type Berth, startBerth } from "../../src/server/berth.ts";
import { CallLog } from "./api-calls.ts";
import { type VirtualRuntime, virtualRuntime } from "./clock.ts";
import type { Raw } from "./make.ts";
import { listPathOf, objectPathOf } from "./paths.ts";
import type { Stage } from "./scenario.ts";

export interface SandboxStage extends Stage {
  readonly sandbox: Sandbox;
  readonly berth: Berth;
  readonly runtime: VirtualRuntime;
  /** What Berth asked of the API. A call that is not in the list of its rights fails `stop`. */
  readonly calls: CallLog;
  /** A call as kube-scheduler makes it, or a look at the debug pages. */
  ask(exchange: Exchange, method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
  stop(): Promise<void>;
}

/** What runs inside kube-controller-manager. */
const controllers: readonly ControllerName[] = [
  "pv-controller",
  "ephemeral-controller",
  "statefulset-controller",
  "garbage-collector",
];

/** @param reach  what Berth reaches the API through: the place for delay and loss */
export async function sandboxStage(
  options: Partial<SandboxOptions> = {},
  reach: (exchange: Exchange, runtime: VirtualRuntime) => Exchange = (exchange) => exchange,
  config: Config = defaults,
): Promise<SandboxStage> {
  const runtime = virtualRuntime();
  const sandbox = new Sandbox({ runtime, scheduler: false, ...options });
  const log = createLog({ level: "error", stream: { write: () => {} }, runtime });
  const calls = new CallLog();
  const exchange = calls.over(reach(sandbox.api.exchange, runtime));
  const start = (): Promise<Berth> => startBerth({ exchange, runtime, config, log, version: "test" });
  let berth = await start();
  const extender: Exchange = (request, signal) => berth.extender(request, signal);
  const end = async (): Promise<void> => {
    const stopped = berth.stop();
    await runtime.advance(30_000);
    await stopped;
  };
  const reached = { urlPrefix: "http://berth/v1", exchange: extender, bindTimeoutMs: config.binding.timeoutMs };
  if (options.scheduler === undefined) sandbox.startScheduler(sandboxEntries(reached));
  await runtime.advance(1_000);

  const call = async (exchange: Exchange, method: string, path: string, body?: unknown, type = "application/json") => {
    const request = {
      method,
      path,
      headers: { "content-type": type },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    let done = false;
    const reply = exchange(request, new AbortController().signal).finally(() => {
      done = true;
    });
    // A call may wait for time: let it pass until the reply is there.
    for (let waits = 0; !done && waits < 10_000; waits++) {
      await runtime.settle();
      if (!done) await runtime.advance(100);
    }
    const { status, body: bytes } = await reply;
    const text = typeof bytes === "string" ? bytes : Buffer.from(bytes as Uint8Array).toString("utf8");
    let parsed: unknown = text;
    try {
      parsed = JSON.parse(text);
    } catch {
      // Text is an answer too.
    }
    return { status, body: parsed };
  };
  const api = async (method: string, path: string, body?: unknown, type?: string): Promise<unknown> => {
    const reply = await call(sandbox.api.exchange, method, path, body, type);
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  return {
    sandbox,
    get berth() {
      return berth;
    },
    runtime,
    calls,
    ask: call,
    apply: (object) => sandbox.apply([object]),
    delete: async (kind, namespace, name) => void (await api("DELETE", objectPathOf(kind, namespace, name))),
    patch: async (kind, namespace, name, merge) =>
      void (await api("PATCH", objectPathOf(kind, namespace, name), merge, "application/merge-patch+json")),
    list: async (kind) => ((await api("GET", listPathOf(kind))) as { items: Raw[] }).items,
    pause: async () => {
      for (const name of controllers) sandbox.stopController(name);
    },
    resume: async () => {
      for (const name of controllers) sandbox.startController(name);
    },
    restart: async () => {
      await end();
      berth = await start();
      await runtime.advance(1_000);
    },
    pass: (ms) => runtime.advance(ms),
    stop: async () => {
      await end();
      sandbox.stop();
      const { strange } = calls;
      if (strange.size > 0) throw new Error(`calls that rights.ts does not list: ${[...strange].join(", ")}`);
    },
  };
}
