/** `berth serve`: answers kube-scheduler for a real cluster. */
import { hostname } from "node:os";
import { collectDefaultMetrics } from "prom-client";
import { applyFlags, type Config, checkListeners, defaults } from "../config.ts";
import { findConnection } from "../kube/kube-config.ts";
import { Transport } from "../kube/transport.ts";
import { createLog } from "../log.ts";
import { createMetrics } from "../metrics.ts";
import { startBerth } from "../server/berth.ts";
import { Misuse, parseOptions, runCommand } from "./arguments.ts";
import { orMisuse, readConfigFile } from "./config-file.ts";
import type { Command, CommandIo } from "./io.ts";
import { type ServeOptions, serveBerth } from "./listeners.ts";
import { tellRights } from "./tell-rights.ts";
import { startTracing } from "./tracing.ts";
import { berthVersion } from "./version.ts";

const help = `Usage: berth serve [--config FILE] [--kubeconfig FILE] [--listen HOST:PORT] [--debug-listen HOST:PORT]

Answers kube-scheduler's extender calls for the cluster that the kubeconfig names.

      --config FILE             configuration, YAML of kind BerthConfiguration; "berth config --defaults" prints one
      --kubeconfig FILE         how to reach the cluster; else the Pod's service account, $KUBECONFIG, ~/.kube/config
      --listen HOST:PORT        where kube-scheduler asks (default 127.0.0.1:${defaults.listen.port})
      --debug-listen HOST:PORT  metrics and explanations (default 127.0.0.1:${defaults.debugListen.port})
`;

/** Sums of gauges that stay, under names that only counters may have. */
const misnamed = ["nodejs_active_handles_total", "nodejs_active_requests_total", "nodejs_active_resources_total"];
/** For TokenReviews and SubjectAccessReviews. */
const reviewSocketsMax = 4;

export const serveCommand: Command = (argv, io) => runCommand("serve", io, () => serve(argv, io));

async function serve(argv: readonly string[], io: CommandIo): Promise<number> {
  const options = parseOptions(argv, {
    config: { type: "string" },
    kubeconfig: { type: "string" },
    listen: { type: "string" },
    "debug-listen": { type: "string" },
    help: { type: "boolean", short: "h" },
  });
  if (options.help) {
    io.stdout.write(help);
    return 0;
  }
  const config = readConfig(options.config, options);
  const found = await findConnection({
    env: io.env,
    ...(config.kubeconfig !== undefined && { flag: config.kubeconfig }),
  });
  if (!found.ok) throw new Misuse(found.error);
  const { stdout, runtime } = io;
  const log = createLog({ level: config.logLevel, stream: { write: (line) => void stdout.write(line) }, runtime });
  const version = berthVersion();
  log.info({ version, source: found.source, address: found.connection.server }, "Starting");

  const tracing = config.tracing ? await startTracing({ log, version, env: io.env }) : undefined;
  const metrics = createMetrics();
  // Every 20 ms: the default of 10 costs twice as much for nothing that anybody would read off it.
  collectDefaultMetrics({ register: metrics.registry, eventLoopMonitoringPrecision: 20 });
  for (const name of misnamed) metrics.registry.removeSingleMetric(name);
  const transport = new Transport({ runtime, connection: found.connection });
  const leaseTransport = new Transport({ runtime, connection: found.connection, socketsMax: 1 });
  const election = {
    exchange: leaseTransport.exchange,
    identity: `${hostname()}_${runtime.uuid()}`,
    cutWrites: () => transport.destroyWrites(),
  };
  if (config.leaderElection.mode === "off") log.info({}, "No Lease is held: refused Pods are not woken");
  const reviewTransport = new Transport({ runtime, connection: found.connection, socketsMax: reviewSocketsMax });
  const [{ exchange }, { exchange: reviews }] = [transport, reviewTransport];
  void tellRights({ exchange, runtime, config, log });
  const traced = tracing && { tracing };
  const berth = await startBerth({ exchange, runtime, config, log, metrics, version, election, reviews, ...traced });
  try {
    await serveUntilStopped({ berth, config, log, metrics, runtime }, io.signal);
  } finally {
    await berth.stop();
    await tracing?.stop();
    for (const one of [transport, leaseTransport, reviewTransport]) one.close();
  }
  log.info({}, "Stopped");
  return 0;
}

async function serveUntilStopped(options: ServeOptions, signal: AbortSignal): Promise<void> {
  const served = await serveBerth(options);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  options.log.info({}, "Stopping");
  await served.stop();
}

/** @throws Misuse that names the file, the line and the key, or the flag */
function readConfig(path: string | undefined, flags: Parameters<typeof applyFlags>[1]): Config {
  const written = readConfigFile("--config", path);
  return orMisuse(() => {
    const config = applyFlags(written, flags);
    checkListeners(config);
    return config;
  });
}
