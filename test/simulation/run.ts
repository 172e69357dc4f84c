/** One run: the calm before, the storm with all that the plan says, the quiet after, and the verdict. */
import { settled } from "./clock.ts";
import type { Finding } from "./judge.ts";
import { Patience } from "./patience.ts";
import type { Plan } from "./plan.ts";
import type { Stats } from "./stats.ts";
import { World, type WorldOptions } from "./world.ts";

export interface Outcome {
  readonly plan: Plan;
  readonly finding: Finding | undefined;
  /** The same for two runs only where everything happened in the same way. */
  readonly hash: string;
  readonly stats: Stats;
  readonly trace: readonly string[];
}

/** So long after the last Pod was placed that could be nothing is held, promised or under way. */
const restMs = 160_000;
/** Where that is soon, it is seen after one of these. */
const restsMs = [15_000, 30_000];
const lookEveryMs = 10_000;

export async function run(plan: Plan, options: WorldOptions = {}): Promise<Outcome> {
  const undo = options.plant?.patch?.();
  try {
    return await runWorld(plan, options);
  } finally {
    undo?.();
  }
}

async function runWorld(plan: Plan, options: WorldOptions): Promise<Outcome> {
  const world = new World(plan, options);
  const { judge, stats } = world;
  await world.open();
  await storm(world);
  await quiet(world);
  if (!judge.finding) await judge.end();
  count(world);
  world.sandbox.stop();
  for (const replica of world.replicas) replica.crash("the run is over");
  return { plan, finding: judge.finding, hash: world.trace.hash, stats, trace: world.trace.lines };
}

async function storm(world: World): Promise<void> {
  const { plan, weather, network, clock, judge, stats, operator } = world;
  weather.isCalm = false;
  network.turn();
  world.trace.add("world", () => "the storm begins");
  const actions = plan.actions.filter(({ at }) => "step" in at);
  for (let step = 0; step < plan.steps && !judge.finding; step++) {
    const due = actions.filter(({ at }) => "step" in at && at.step === step);
    for (const { act } of due) operator.act(act);
    if (due.length > 0) await settled();
    if (!clock.fire()) break;
    await settled();
    judge.afterStep();
    stats.steps++;
  }
}

async function quiet(world: World): Promise<void> {
  const { weather, judge, clock, stats } = world;
  weather.isCalm = true;
  for (const { life } of world.replicas) life.fuse = undefined;
  world.trace.add("world", () => "the storm is over");
  const calmAt = clock.now;
  const patience = new Patience(world);
  // While somebody can be placed there is time; then everything must come to rest, which may make room for others.
  let waiting: number;
  do {
    do await pass(world, lookEveryMs);
    while (patience.look().length > 0 && !judge.finding);
    stats.waitMaxMs = clock.now - calmAt;
    await rest(world);
    waiting = patience.look().length;
  } while (waiting > 0 && !judge.finding);
  stats.virtualMs = clock.now;
}

/** Until all holds that must hold in the end, or could. Judges ask Berth what a scheduler would, so there is time after each. */
async function rest(world: World): Promise<void> {
  const { judge, plan } = world;
  if (plan.restsInFull) return pass(world, restMs);
  for (const ms of restsMs) {
    await pass(world, ms);
    if (judge.finding || (await judge.isContent())) return;
  }
  await pass(world, restMs);
}

/** Fires every event of so much time, and judges after each. */
async function pass({ clock, judge, stats }: World, ms: number): Promise<void> {
  const until = clock.now + ms;
  await settled();
  for (let at = clock.nextAt; at !== undefined && at <= until && !judge.finding; at = clock.nextAt) {
    clock.fire();
    await settled();
    judge.afterStep();
    stats.steps++;
  }
  clock.passTo(until);
}

function count({ stats, server, weather, replicas }: World): void {
  stats.runs = 1;
  for (const { spec } of server.all("pods")) {
    if (spec.nodeName === undefined) stats.podsWaiting++;
    else stats.podsPlaced++;
  }
  for (const [fault, times] of weather.counts) stats.faults.set(fault, times);
  for (const replica of replicas) stats.crashes += replica.incarnation - 1;
}
