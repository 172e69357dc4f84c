/** What places the Pods of a row: a kube-scheduler with or without an extender, started for that row alone. */
import type { ControlPlane } from "../../test/control-plane/control-plane.ts";
import { berthEntries, type SchedulerOptions, startKubeScheduler } from "../../test/control-plane/kube-scheduler.ts";
import { freePorts } from "../../test/control-plane/processes.ts";
import { until } from "../../test/control-plane/reach.ts";
import { schedulerName } from "./field.ts";

export const subjectNames = ["in-tree", "in-tree at 100 %", "no volumes", "null extender", "Berth"] as const;
export type SubjectName = (typeof subjectNames)[number];

export interface Subject {
  /** Names of its processes. */
  readonly scheduler: string;
  readonly extender?: string;
  stop(): Promise<void>;
}

/** Resolves when its caches are full. */
export async function startSubject(plane: ControlPlane, name: SubjectName): Promise<Subject> {
  if (name === "Berth") return startBerth(plane);
  if (name === "null extender") return startNullExtender(plane);
  const options = { "in-tree": inTree, "in-tree at 100 %": inTreeAtAll, "no volumes": {} }[name];
  const stop = await startScheduler(plane, { ...options, extenders: [] });
  return { scheduler, stop };
}

const inTree = { volumeBinding: "on", nodesToScore: "some" } as const;
const inTreeAtAll = { volumeBinding: "on" } as const;
const scheduler = `kube-scheduler-${schedulerName}`;

async function startScheduler(plane: ControlPlane, options: Omit<SchedulerOptions, "schedulerName">) {
  const { processes, facts } = plane;
  const { programs, folder, kubeconfig } = facts;
  const place = { processes, programs, folder, kubeconfig };
  const { stop } = await startKubeScheduler(place, { schedulerName, ...options });
  return stop;
}

async function startBerth(plane: ControlPlane): Promise<Subject> {
  await plane.startBerth();
  const { asks, binds } = berthEntries(plane.facts.extenderUrl);
  const stop = await startScheduler(plane, { extenders: [asks, binds] });
  const stopAll = async (): Promise<void> => {
    await stop();
    // Not killed: a profile is written at the end.
    await plane.processes.end("berth", "SIGTERM");
  };
  return { scheduler, extender: "berth", stop: stopAll };
}

const nullExtender = "null-extender";

async function startNullExtender(plane: ControlPlane): Promise<Subject> {
  const [port = 0] = await freePorts(1);
  const { processes, facts } = plane;
  processes.start(nullExtender, [process.execPath, "bench/cluster/null-extender.ts", facts.server, String(port)]);
  const url = `http://127.0.0.1:${port}`;
  await until("the null extender answers", async () => (await fetch(url)).status === 404);
  const { asks, binds } = berthEntries(url);
  const stop = await startScheduler(plane, { extenders: [asks, binds] });
  const stopAll = async (): Promise<void> => {
    await stop();
    await processes.end(nullExtender);
  };
  return { scheduler, extender: nullExtender, stop: stopAll };
}
