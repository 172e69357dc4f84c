/** `berth serve`: answers kube-scheduler for a real cluster. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { collectDefaultMetrics } from "prom-client";
import { applyFlags, type Config, ConfigError, checkListeners, defaults, parseConfig } from "../config.ts";
import { type Listener, type ListenOptions, listen } from "../http/listener.ts";
import { findConnection } from "../kube/kube-config.ts";
import { Transport } from "../kube/transport.ts";
import { createLog, type Log } from "../log.ts";
import { createMetrics } from "../metrics.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { type Berth, startBerth } from "../server/berth.ts";
import { Misuse, parseOptions, runCommand } from "./arguments.ts";
import type { Command, CommandIo } from "./io.ts";
import { berthVersion } from "./version.ts";

const help = `Usage: berth serve [--config FILE] [--kubeconfig FILE] [--listen HOST:PORT] [--debug-listen HOST:PORT]

Answers kube-scheduler's extender calls for the cluster that the kubeconfig names.

      --config FILE             configuration, YAML of kind BerthConfiguration
      --kubeconfig FILE         how to reach the cluster; else the Pod's service account, $KUBECONFIG, ~/.kube/config
      --listen HOST:PORT        where kube-scheduler asks (default 127.0.0.1:${defaults.listen.port})
      --debug-listen HOST:PORT  metrics and explanations (default 127.0.0.1:${defaults.debugListen.port})
`;

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

  const metrics = createMetrics();
  // Every 20 ms: the default of 10 costs twice as much for nothing that anybody would read off it.
  collectDefaultMetrics({ register: metrics.registry, eventLoopMonitoringPrecision: 20 });
  const transport = new Transport({ runtime, connection: found.connection });
  const leaseTransport = new Transport({ runtime, connection: found.connection, socketsMax: 1 });
  const election = {
    exchange: leaseTransport.exchange,
    identity: `${hostname()}_${runtime.uuid()}`,
    cutWrites: () => transport.destroyWrites(),
  };
  if (config.leaderElection.mode === "off") log.info({}, "No Lease is held: refused Pods are not woken");
  const { exchange } = transport;
  const berth = await startBerth({ exchange, runtime, config, log, metrics, version, election });
  try {
    await serveUntilStopped(berth, config, log, io);
  } finally {
    await berth.stop();
    transport.close();
    leaseTransport.close();
  }
  log.info({}, "Stopped");
  return 0;
}

async function serveUntilStopped(berth: Berth, config: Config, log: Log, { runtime, signal }: CommandIo) {
  const served = await serveBerth({ berth, config, log, runtime });
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  log.info({}, "Stopping");
  await served.stop();
}

export interface ServeOptions {
  readonly berth: Berth;
  readonly config: Config;
  readonly log: Log;
  readonly runtime: Runtime;
}

export interface Served {
  readonly extender: Listener;
  readonly debug: Listener;
  /** Stops Berth, which still answers what comes in meanwhile with 503, then the listeners; ends in bounded time. */
  stop(): Promise<void>;
}

/** How long a listener may take to get its last replies out. */
const closeMs = 2_000;

/**
 * Puts a Berth on real listeners.
 *
 * @throws Misuse when an address cannot be had
 */
export async function serveBerth({ berth, config, log, runtime }: ServeOptions): Promise<Served> {
  const { listen: where, debugListen, limits } = config;
  const onFault = (err: unknown): void => log.error({ err }, "Broke on a request");
  const { bodyBytesMax, bodiesBytesMax } = limits;
  const onTooLarge = (path: string): void =>
    log.warn(
      { path: path.slice(0, 100), bodyBytesMax },
      "Turned away a body that is too large: set nodeCacheCapable to true in kube-scheduler's extenders, or raise limits.bodyBytesMax",
    );
  const open = async (
    name: string,
    faces: Pick<ListenOptions, "handler" | "admit">,
    { host, port }: typeof where,
  ): Promise<Listener> => {
    try {
      const bodies = { bodyLimitBytes: bodyBytesMax, bodiesLimitBytes: bodiesBytesMax };
      const listener = await listen({ ...faces, host, port, ...bodies, onFault, onTooLarge });
      log.info({ address: `${host}:${listener.port}` }, `Listening for ${name}`);
      return listener;
    } catch (error) {
      throw new Misuse(`cannot listen on ${host}:${port} (${(error as Error).message}); choose another address`);
    }
  };
  const extender = await open("kube-scheduler", { handler: berth.extender, admit: berth.admit }, where);
  let debug: Listener;
  try {
    debug = await open("metrics and explanations", { handler: berth.debug }, debugListen);
  } catch (error) {
    await extender.closeNow();
    throw error;
  }
  const close = async (listener: Listener): Promise<void> => {
    const late = runtime.timer(closeMs, () => void listener.closeNow());
    await listener.close();
    late.cancel();
  };
  return {
    extender,
    debug,
    stop: async () => {
      await berth.stop();
      await Promise.all([close(extender), close(debug)]);
    },
  };
}

/** @throws Misuse that names the file, the line and the key, or the flag */
function readConfig(path: string | undefined, flags: Parameters<typeof applyFlags>[1]): Config {
  try {
    const config = applyFlags(path === undefined ? defaults : parseConfig(readFileSync(path, "utf8"), path), flags);
    checkListeners(config);
    return config;
  } catch (error) {
    if (error instanceof ConfigError) throw new Misuse(error.message);
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new Misuse(`--config ${path}: ${code === "ENOENT" ? "no such file" : message}`);
  }
}
