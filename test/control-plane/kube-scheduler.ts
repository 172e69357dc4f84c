/** A real kube-scheduler with a configuration of its own; several share one API server, each for its schedulerName. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
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

/** As the README has it, but for what the options say. */
function configuration(kubeconfig: string, options: SchedulerOptions): Raw {
  const { schedulerName, extenders, enabled = [], volumeBinding = "off", nodesToScore = "all" } = options;
  const allCandidates = { minCandidateNodesPercentage: 100, minCandidateNodesAbsolute: 100 };
  const disabled = volumeBinding === "off" ? [{ name: "VolumeBinding" }] : [];
  return {
    apiVersion: "kubescheduler.config.k8s.io/v1",
    kind: "KubeSchedulerConfiguration",
    clientConnection: { kubeconfig, qps: 5000, burst: 5000 },
    leaderElection: options.leaderElection ?? { leaderElect: false },
    ...(nodesToScore === "all" && { percentageOfNodesToScore: 100 }),
    profiles: [
      {
        schedulerName,
        plugins: { multiPoint: { enabled, disabled } },
        pluginConfig: [{ name: "DefaultPreemption", args: allCandidates }],
      },
    ],
    extenders,
  };
}

/** Berth's two entries, for one timeout serves all verbs of an entry. */
export function berthEntries(urlPrefix: string): { asks: Raw; binds: Raw } {
  const both = { urlPrefix, nodeCacheCapable: true, ignorable: false };
  const verbs = { filterVerb: "filter", prioritizeVerb: "prioritize", preemptVerb: "preempt" };
  return {
    asks: { ...both, ...verbs, weight: 5, httpTimeout: "5s" },
    binds: { ...both, bindVerb: "bind", httpTimeout: "610s" },
  };
}
