/** One test's part of the control plane: its own kube-schedulers and extenders, its objects, and nothing left of them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Given, objectsOf } from "../support/given.ts";
import type { Raw } from "../support/make.ts";
import { berthCommand, type Facts } from "./control-plane.ts";
import { type Extender, type Script, startExtender } from "./extender.ts";
import { berthEntries, type KubeScheduler, type SchedulerOptions, startKubeScheduler } from "./kube-scheduler.ts";
import type { Reached } from "./on-plane.ts";
import { freePorts, Processes } from "./processes.ts";
import { schedulerToken, until, writeKubeconfig } from "./reach.ts";
import { type RealStage, realStage } from "./real-stage.ts";
import { type SlowLink, startSlowLink } from "./slow-link.ts";

/** Where a Pod is, or why it is nowhere: reason and message of its PodScheduled condition, which its event repeats. */
export type Outcome = { readonly node: string } | { readonly reason: string; readonly message: string };

interface LabScheduler extends Partial<Omit<SchedulerOptions, "extenders">> {
  /** Who it is to kube-apiserver; "admin" unless given. */
  readonly user?: "admin" | "system:kube-scheduler";
}

export interface Lab {
  readonly facts: Facts;
  readonly stage: RealStage;
  readonly processes: Processes;
  /** The running Berth's entries. */
  readonly berth: ReturnType<typeof berthEntries>;
  /** Objects in short form; its Pods name this scheduler. */
  given(given: Given, schedulerName?: string): Promise<void>;
  extender(script: Script): Promise<Extender>;
  scheduler(extenders: readonly Raw[], options?: LabScheduler): Promise<KubeScheduler>;
  /** One more Berth, to which all that the API server says comes late. */
  lateBerth(delayMs: number): Promise<{ readonly extenderUrl: string }>;
  /** What kube-scheduler logged. */
  log(schedulerName?: string): string;
  /** Once the Pod is on a node, or was refused. @param key  namespace and name */
  outcome(key: string): Promise<Outcome>;
  /** Once it is on a node, whatever was said before. */
  placed(key: string, limitMs?: number): Promise<string>;
  /** Volume by claim; "" where it has none. */
  claims(): Promise<Record<string, string>>;
}

export async function inLab(
  plane: Reached,
  name: string,
  run: (lab: Lab) => Promise<void>,
  stage = realStage(plane),
): Promise<void> {
  const { facts } = plane;
  const processes = new Processes(facts.folder);
  const extenders: Extender[] = [];
  const schedulers: KubeScheduler[] = [];
  const links: SlowLink[] = [];
  const pods = { stage, named: (key: string) => podOf(stage, key) };
  const lab: Lab = {
    facts,
    stage,
    processes,
    berth: berthEntries(facts.extenderUrl),
    given: async ({ pods = {}, ...given }, schedulerName = name) => {
      const ours = Object.entries(pods).map(([key, fields]) => [key, { schedulerName, ...fields }] as const);
      for (const object of objectsOf({ ...given, pods: Object.fromEntries(ours) })) await stage.apply(object);
    },
    extender: async (script) => {
      const made = await startExtender(script);
      extenders.push(made);
      return made;
    },
    scheduler: async (entries, { schedulerName = name, user = "admin", ...options } = {}) => {
      const place = {
        processes,
        programs: facts.programs,
        folder: facts.folder,
        kubeconfig: kubeconfigOf(facts, user),
      };
      const made = await startKubeScheduler(place, { ...options, schedulerName, extenders: entries });
      schedulers.push(made);
      return made;
    },
    lateBerth: async (delayMs) => {
      const link = await startSlowLink(facts.server, delayMs);
      links.push(link);
      const kubeconfig = join(facts.folder, `${name}-late-kubeconfig`);
      writeKubeconfig(kubeconfig, link.server);
      const [extender = 0, debug = 0] = await freePorts(2);
      processes.start(`${name}-berth`, berthCommand(kubeconfig, extender, debug));
      const ready = `http://127.0.0.1:${debug}/readyz`;
      await until("the late Berth is ready", async () => (await fetch(ready)).status === 200);
      return { extenderUrl: `http://127.0.0.1:${extender}/v1` };
    },
    log: (schedulerName = name) => readFileSync(join(facts.folder, `kube-scheduler-${schedulerName}.log`), "utf8"),
    outcome: (key) => outcomeOf(pods, key),
    placed: async (key, limitMs = 20_000) => {
      await until(`${key} is on a node`, async () => (await pods.named(key)).spec.nodeName !== undefined, limitMs);
      return (await pods.named(key)).spec.nodeName ?? "";
    },
    claims: async () => {
      const claims = (await stage.list("PersistentVolumeClaim")) as unknown as Claim[];
      const entries = claims.map(({ metadata, spec }) => [
        `${metadata.namespace}/${metadata.name}`,
        spec.volumeName ?? "",
      ]);
      return Object.fromEntries(entries);
    },
  };
  try {
    await run(lab);
  } finally {
    for (const scheduler of schedulers) await scheduler.stop();
    await processes.endAll();
    for (const one of [...extenders, ...links]) one.close();
    await stage.cleanUp();
  }
}

function kubeconfigOf({ folder, kubeconfig, server }: Facts, user: "admin" | "system:kube-scheduler"): string {
  if (user === "admin") return kubeconfig;
  const path = join(folder, "kube-scheduler-kubeconfig");
  writeKubeconfig(path, server, schedulerToken);
  return path;
}

interface Claim {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly spec: { readonly volumeName?: string };
}

interface Pod {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly spec: { readonly nodeName?: string };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly reason: string; readonly message: string }[];
  };
}

async function podOf(stage: RealStage, key: string): Promise<Pod> {
  const pods = (await stage.list("Pod")) as unknown as Pod[];
  const pod = pods.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === key);
  if (!pod) throw new Error(`there is no pod ${key}`);
  return pod;
}

async function outcomeOf(
  { stage, named }: { stage: RealStage; named: (key: string) => Promise<Pod> },
  key: string,
): Promise<Outcome> {
  let outcome: Outcome | undefined;
  await until(`${key} is placed or refused`, async () => {
    const { spec, status } = await named(key);
    const condition = status?.conditions?.find(({ type }) => type === "PodScheduled");
    if (spec.nodeName !== undefined) outcome = { node: spec.nodeName };
    else if (condition) outcome = { reason: condition.reason, message: condition.message };
    return outcome !== undefined;
  });
  if (!outcome) throw new Error("unreachable");
  if ("node" in outcome) return outcome;
  const { message } = outcome;
  await until(
    `an event on ${key} says "${message}"`,
    async () => {
      const events = (await stage.list("Event")) as {
        reason?: string;
        message?: string;
        involvedObject?: { name?: string };
      }[];
      return events.some(
        (event) =>
          event.reason === "FailedScheduling" &&
          event.message === message &&
          event.involvedObject?.name === key.split("/")[1],
      );
    },
    10_000,
  );
  return outcome;
}
