/** Puts a Berth on its two listeners, with TLS where the configuration has it. */
import { isLoopback } from "../config/values.ts";
import type { Config } from "../config.ts";
import { type Listener, type ListenOptions, listen } from "../http/listener.ts";
import { loadTls, type TlsMaterial } from "../http/tls-files.ts";
import { TlsWatch } from "../http/tls-watch.ts";
import type { Log } from "../log.ts";
import type { ListenerName, Metrics } from "../metrics.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Berth } from "../server/berth.ts";
import { Misuse } from "./arguments.ts";

export interface ServeOptions {
  readonly berth: Pick<Berth, "extender" | "admit" | "debug" | "admitDebug" | "stop">;
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
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
/** People and Prometheus; what they send is a Pod at most, of which etcd keeps 1.5 MiB. */
const debugConnectionsMax = 256;
const debugBodyBytesMax = 2 << 20;

interface Door {
  readonly name: ListenerName;
  /** For whom it is. */
  readonly purpose: string;
  readonly where: Config["listen"];
  readonly tls: { readonly section: "tls" | "debugTls"; readonly paths: Config["tls"] };
  /** What to do about a body that is too large for it. */
  readonly remedy: string;
  readonly faces: Pick<ListenOptions, "handler" | "admit" | "bodyLimitBytes" | "bodiesLimitBytes" | "connectionsMax">;
}

interface Opened {
  readonly listener: Listener;
  close(): Promise<void>;
}

/**
 * Puts a Berth on real listeners.
 *
 * @throws Misuse when an address cannot be had, or a file of TLS cannot be used
 */
export async function serveBerth(options: ServeOptions): Promise<Served> {
  const { berth, config } = options;
  const { bodyBytesMax, bodiesBytesMax: bodiesLimitBytes } = config.limits;
  const extender = await open(options, {
    name: "extender",
    purpose: "kube-scheduler",
    where: config.listen,
    tls: { section: "tls", paths: config.tls },
    remedy: "set nodeCacheCapable to true in kube-scheduler's extenders, or raise limits.bodySizeMax",
    faces: { handler: berth.extender, admit: berth.admit, bodyLimitBytes: bodyBytesMax, bodiesLimitBytes },
  });
  let debug: Opened;
  try {
    debug = await open(options, {
      name: "debug",
      purpose: "metrics and explanations",
      where: config.debugListen,
      tls: { section: "debugTls", paths: config.debugTls },
      remedy: "it is to be one Pod",
      faces: {
        handler: berth.debug,
        ...(berth.admitDebug && { admit: berth.admitDebug }),
        bodyLimitBytes: Math.min(bodyBytesMax, debugBodyBytesMax),
        connectionsMax: debugConnectionsMax,
      },
    });
  } catch (error) {
    await extender.close();
    throw error;
  }
  return {
    extender: extender.listener,
    debug: debug.listener,
    stop: async () => {
      await berth.stop();
      await Promise.all([extender.close(), debug.close()]);
    },
  };
}

async function open(options: ServeOptions, door: Door): Promise<Opened> {
  const { log, metrics, runtime } = options;
  const { name, purpose, where, tls, remedy, faces } = door;
  const { section, paths } = tls;
  const load = paths && (() => loadTls(section, paths, runtime.wallTime()));
  const loaded = await load?.();
  if (loaded && !loaded.ok) throw new Misuse(loaded.problem);
  let listener: Listener;
  try {
    listener = await listen({
      ...faces,
      ...where,
      ...(loaded && { tls: loaded.material }),
      onFault: (err) => log.error({ err }, "Broke on a request"),
      onTooLarge: (path) => {
        const fields = { path: path.slice(0, 100), bodyBytesMax: faces.bodyLimitBytes };
        log.warn(fields, `Turned away a body that is too large: ${remedy}`);
      },
      onTurnedAway: (cause) => metrics.connectionsTurnedAway.inc({ listener: name, cause }),
    });
  } catch (error) {
    throw new Misuse(
      `cannot listen on ${where.host}:${where.port} (${(error as Error).message}); choose another address`,
    );
  }
  const observer = {
    reloaded: (outcome: string) => metrics.tlsReloads.inc({ listener: name, outcome }),
    expiresAt: (ms: number) => metrics.certificateExpiry.set({ listener: name }, ms / 1000),
  };
  const serve = (found: TlsMaterial): void => listener.renewTls(found);
  const watch = load && loaded && new TlsWatch({ runtime, log, source: paths.certFile, load, serve, observer }, loaded);
  watch?.start();
  // increase() is asked of it, so it has to be there before it happens.
  if (watch) metrics.tlsReloads.inc({ listener: name, outcome: "refused" }, 0);
  log.info({ address: `${where.host}:${listener.port}`, tls: loaded !== undefined }, `Listening for ${purpose}`);
  if (!loaded && !isLoopback(where.host)) {
    log.warn(
      { address: `${where.host}:${listener.port}` },
      "Whoever reaches this address is answered: insecure is true",
    );
  }
  const close = async (): Promise<void> => {
    watch?.stop();
    const late = runtime.timer(closeMs, () => void listener.closeNow());
    await listener.close();
    late.cancel();
  };
  return { listener, close };
}
