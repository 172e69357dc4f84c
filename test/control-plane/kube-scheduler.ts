/** A real kube-scheduler with a configuration of its own; several share one API server, each for its schedulerName. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { defaults } from "../../src/config.ts";
import { type ClientTls, extenderEntries, schedulerConfiguration } from "../../src/scheduler-config/generate.ts";
import type { Raw } from "../support/make.ts";
import type { Processes } from "./processes.ts";
import { freePorts } from "./processes.ts";
import type { Programs } from "./programs.ts";
import { get, reach } from "./reach.ts";

export interface SchedulerOptions {
  readonly schedulerName: string;
  /** Of its process and its log, where several answer to one schedulerName; else that. */
  readonly instance?: string;
  readonly extenders: readonly Raw[];
  /** `plugins.multiPoint.enabled` of its only profile: weights. */
  readonly enabled?: readonly Raw[];
  /** Left out, it schedules without asking anybody. */
  readonly leaderElection?: Raw;
  /** Off unless given: Berth does the plugin's work, and where it stays on Berth only filters. */
  readonly volumeBinding?: "on" | "off";
  /** All unless given: "some" leaves it to kube-scheduler, which then looks at fewer the more there are. */
  readonly nodesToScore?: "all" | "some";
}

export interface KubeScheduler {
  /** What it says at /metrics, as text. */
  metrics(): Promise<string>;
  stop(): Promise<void>;
}

interface Place {
  readonly processes: Processes;
  readonly programs: Programs;
  readonly folder: string;
  readonly kubeconfig: string;
}

/** Resolves when it is ready: its caches are full. */
export async function startKubeScheduler(place: Place, options: SchedulerOptions): Promise<KubeScheduler> {
  const { processes, programs, folder, kubeconfig } = place;
  const name = `kube-scheduler-${options.instance ?? options.schedulerName}`;
  const [port = 0] = await freePorts(1);
  const path = join(folder, `${name}.yaml`);
  writeFileSync(path, JSON.stringify(configuration(kubeconfig, options)));
  processes.start(name, [
    ...programs["kube-scheduler"],
    `--config=${path}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    "--v=2",
  ]);
  const transport = reach(`https://127.0.0.1:${port}`);
  const stop = async (): Promise<void> => {
    await processes.end(name);
    transport.close();
  };
  try {
    await processes.comesUp(name, async () => (await get(transport.exchange, "/readyz")).status === 200);
  } catch (error) {
    await stop();
    throw error;
  }
  return { metrics: async () => (await get(transport.exchange, "/metrics")).text, stop };
}

/** The product's own, but for what the options say. */
function configuration(kubeconfig: string, options: SchedulerOptions): Raw {
  const { schedulerName, extenders, enabled, volumeBinding = "off", nodesToScore = "all" } = options;
  const mode = volumeBinding === "off" ? "second-scheduler" : "filter-only";
  const urlPrefix = "http://127.0.0.1:10290/v1";
  const made = schedulerConfiguration({ mode, schedulerName, kubeconfig, urlPrefix, bindTimeoutMs });
  const { percentageOfNodesToScore, profiles, ...config } = made;
  const [profile] = profiles as [Raw];
  // Without extenders it is kube-scheduler as it comes.
  const bare = { schedulerName };
  const base = volumeBinding === "on" && extenders.length === 0 ? bare : profile;
  return {
    ...config,
    clientConnection: { kubeconfig, qps: 5000, burst: 5000 },
    leaderElection: options.leaderElection ?? { leaderElect: false },
    ...(nodesToScore === "all" && { percentageOfNodesToScore }),
    profiles: [enabled ? withEnabled(base, enabled) : base],
    extenders,
  };
}

function withEnabled(profile: Raw, enabled: readonly Raw[]): Raw {
  const plugins = (profile["plugins"] ?? {}) as { readonly multiPoint?: Raw };
  return { ...profile, plugins: { ...plugins, multiPoint: { ...plugins.multiPoint, enabled } } };
}

const bindTimeoutMs = defaults.binding.timeoutMs;

/** Berth's two entries, as `berth scheduler-config` writes them. */
export function berthEntries(urlPrefix: string, tls?: ClientTls): { asks: Raw; binds: Raw } {
  const { asks, binds } = extenderEntries({ urlPrefix, tls, bindTimeoutMs });
  return { asks: { ...asks }, binds: { ...binds } };
}
