/** Berth as the sandbox's extender: the shipped server on real HTTP, called as kube-scheduler is configured to call it. */
import { defaults } from "../config.ts";
import { Transport } from "../kube/transport.ts";
import { createLog } from "../log.ts";
import { createMetrics } from "../metrics.ts";
import { startBerth } from "../server/berth.ts";
import { serveBerth } from "./listeners.ts";
import type { StartExtender } from "./sandbox.ts";
import { sandboxEntries } from "./sandbox-entries.ts";
import { berthVersion } from "./version.ts";

const anyPort = { host: "127.0.0.1", port: 0 };
/** Each bind in progress holds a connection, and kube-scheduler does not bound their number. */
const socketsMax = 10_000;

export const startBerthExtender: StartExtender = async ({ api, runtime, io }) => {
  const config = { ...defaults, listen: anyPort, debugListen: anyPort };
  const log = createLog({ level: "warn", stream: { write: (line) => void io.stderr.write(line) }, runtime });
  const metrics = createMetrics();
  const berth = await startBerth({ exchange: api, runtime, config, log, metrics, version: berthVersion() });
  const served = await serveBerth({ berth, config, log, metrics, runtime });
  const { extender, debug } = served;
  io.stdout.write(
    `Berth on http://${extender.host}:${extender.port}, explanations on http://${debug.host}:${debug.port}\n`,
  );

  const server = `http://${extender.host}:${extender.port}`;
  const transport = new Transport({ runtime, connection: { server, credentials: { kind: "none" } }, socketsMax });
  return {
    entries: sandboxEntries({
      urlPrefix: `${server}/v1`,
      exchange: transport.exchange,
      bindTimeoutMs: config.binding.timeoutMs,
    }),
    stop: async () => {
      transport.close();
      await served.stop();
    },
  };
};
