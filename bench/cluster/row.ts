/** One row: what one subject makes of one burst of Pods, and what that cost everybody. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type { ControlPlane } from "../../test/control-plane/control-plane.ts";
import { audit } from "../../test/support/auditor.ts";
import type { Api } from "./api.ts";
import { type Arrivals, arrive } from "./arrivals.ts";
import { cpuSeconds } from "./cpu.ts";
import type { Field } from "./field.ts";
import { type Subject, type SubjectName, startSubject } from "./subjects.ts";

/** What a row measures. */
export interface Task {
  readonly nodes: number;
  readonly subject: SubjectName;
  readonly pods: number;
  /** Whether each Pod mounts two claims, or none. */
  readonly hasClaims: boolean;
  readonly windowMs: number;
}

export const processNames = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "extender",
] as const;
export type ProcessName = (typeof processNames)[number];

export interface Row extends Task {
  readonly arrivals: Arrivals;
  /** Of each process while the Pods arrived, in seconds. */
  readonly cpu: Readonly<Partial<Record<ProcessName, number>>>;
  /** Of this process: creating and watching Pods. */
  readonly benchCpu: number;
  /** What each of Berth's answers took, in milliseconds, ascending; by verb. */
  readonly calls: ReadonlyMap<string, readonly number[]>;
  /** Sentences of the auditor; one voids the row. */
  readonly findings: readonly string[];
}

export interface Ground {
  readonly plane: ControlPlane;
  readonly api: Api;
  readonly field: Field;
}

/** On a field that is as large as the task says and clear, and clear again afterwards. */
export async function runRow({ plane, api, field }: Ground, task: Task): Promise<Row> {
  const { claims, pods } = field.burst(task.pods, task.hasClaims);
  await api.createAll(claims);
  const subject = await startSubject(plane, task.subject);
  const log = subject.extender === "berth" ? tail(join(plane.facts.folder, "berth.log")) : undefined;
  const before = processesOf(plane, subject);
  const ownBefore = process.cpuUsage();
  const arrivals = await arrive(api, pods, task.windowMs);
  const after = processesOf(plane, subject);
  const own = process.cpuUsage(ownBefore);
  await subject.stop();
  await field.settled();
  const findings = await audit(api.audited);
  await field.clear();
  const cpu = Object.fromEntries(
    processNames.flatMap((name) => {
      const seconds = (after[name] ?? Number.NaN) - (before[name] ?? Number.NaN);
      return Number.isNaN(seconds) ? [] : [[name, seconds]];
    }),
  );
  return {
    ...task,
    arrivals,
    cpu,
    benchCpu: (own.user + own.system) / 1e6,
    calls: log ? callsIn(log()) : new Map(),
    findings,
  };
}

function processesOf({ processes }: ControlPlane, { scheduler, extender }: Subject): Record<string, number> {
  const pids = processes.pids();
  const of = (name: ProcessName): number | undefined => {
    if (name === "kube-scheduler") return pids[scheduler];
    return name === "extender" ? pids[extender ?? ""] : pids[name];
  };
  const ours = processNames.flatMap((name) => {
    const pid = of(name);
    return pid === undefined ? [] : [[name, pid] as const];
  });
  return cpuSeconds(Object.fromEntries(ours));
}

/** What is written to the file from now on. */
function tail(path: string): () => string {
  const file = openSync(path, "r");
  const begin = fstatSync(file).size;
  return () => {
    const bytes = Buffer.alloc(fstatSync(file).size - begin);
    readSync(file, bytes, 0, bytes.length, begin);
    closeSync(file);
    return bytes.toString();
  };
}

/** Berth's log has one line for each call that it answered. */
function callsIn(log: string): Map<string, number[]> {
  const lines = log.split("\n").flatMap((line) => {
    const { verb, durationMs } = line.startsWith("{")
      ? (JSON.parse(line) as { verb?: string; durationMs?: number })
      : {};
    return verb !== undefined && durationMs !== undefined ? [{ verb, durationMs }] : [];
  });
  return new Map(
    [...Map.groupBy(lines, ({ verb }) => verb)].map(([verb, all]) => [
      verb,
      all.map(({ durationMs }) => durationMs).toSorted((a, b) => a - b),
    ]),
  );
}
