/** What is done to a control plane while Pods arrive. */
import { nodeRuntime as runtime } from "../../../src/runtime/node-runtime.ts";
import type { Field } from "./field.ts";

export interface Fault {
  readonly name: string;
  /** How often in all, over so many bursts at least. */
  readonly times: number;
  readonly bursts: number;
  /** Milliseconds of work before each, at random between these. */
  readonly after: readonly [min: number, max: number];
  /** Does it, and brings back what was taken away. */
  strike(field: Field): Promise<void>;
}

export interface Scale {
  readonly berthKills: number;
  readonly berthBursts: number;
  readonly times: number;
  /** Milliseconds of work before a kill. */
  readonly after: readonly [min: number, max: number];
  readonly etcdStillMs: number;
  readonly controllersAwayMs: number;
}

/** For 1,000 Pods, which take half a minute. */
export const whole: Scale = {
  berthKills: 21,
  berthBursts: 3,
  times: 3,
  after: [200, 4_000],
  etcdStillMs: 10_000,
  controllersAwayMs: 30_000,
};

/** For a few Pods, which take a second or two. */
export const small: Scale = {
  berthKills: 4,
  berthBursts: 2,
  times: 1,
  after: [20, 500],
  etcdStillMs: 3_000,
  controllersAwayMs: 4_000,
};

export function faultsOf(scale: Scale): readonly Fault[] {
  const { after, times } = scale;
  const once = { times: 1, bursts: 1, after };
  const often = { times, bursts: 1, after };
  return [
    { name: "Berth killed", times: scale.berthKills, bursts: scale.berthBursts, after, strike: killBerth },
    { name: "kube-apiserver killed", ...often, strike: killApiServer },
    { ...once, name: `etcd still for ${scale.etcdStillMs / 1000} s`, strike: (field) => stopEtcd(field, scale) },
    { ...often, name: "Berth's connections cut", times: times * 4, strike: async (field) => field.cut("berth") },
    {
      ...often,
      name: "kube-scheduler's connections cut",
      times: times * 2,
      strike: async (field) => field.cut("kube-scheduler"),
    },
    { name: "kube-scheduler killed", ...often, strike: killScheduler },
    {
      ...once,
      name: `PV controller away for ${scale.controllersAwayMs / 1000} s`,
      strike: (field) => withoutControllers(field, scale, async () => {}),
    },
    {
      ...once,
      name: "PV controller away, and Berth killed meanwhile",
      strike: (field) => withoutControllers(field, scale, () => killBerth(field)),
    },
  ];
}

/** Also between what it wrote to a volume and the Pod's Binding (FR-055). */
async function killBerth({ plane }: Field): Promise<void> {
  await plane.processes.end("berth");
  await plane.startBerth();
}

async function killApiServer({ plane, between }: Field): Promise<void> {
  await plane.processes.end("kube-apiserver");
  await runtime.sleep(between(0, 2_000));
  await plane.startApiServer();
}

async function killScheduler({ plane, between }: Field): Promise<void> {
  await plane.processes.end("kube-scheduler-berth-scheduler");
  await runtime.sleep(between(0, 1_000));
  await plane.startScheduler();
}

async function stopEtcd({ plane: { processes } }: Field, { etcdStillMs }: Scale): Promise<void> {
  processes.signal("etcd", "SIGSTOP");
  await runtime.sleep(etcdStillMs);
  processes.signal("etcd", "SIGCONT");
}

async function withoutControllers({ plane }: Field, scale: Scale, meanwhile: () => Promise<void>): Promise<void> {
  await plane.processes.end("kube-controller-manager");
  await runtime.sleep(scale.controllersAwayMs / 2);
  await meanwhile();
  await runtime.sleep(scale.controllersAwayMs / 2);
  plane.startControllers();
}
