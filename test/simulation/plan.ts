/**
 * A run before it is run: the cluster that it begins with, what people and processes do and when, what the weather may bring. All
 * of it is data, drawn from the seed, so that a run that fails can be made smaller and stays itself.
 */
import type { ControllerName } from "../../src/sandbox/sandbox.ts";
import { Random } from "../oracle/random.ts";
import { troubleOf } from "./troubles.ts";
import { type Fault, faults } from "./weather.ts";

export type WriteKind = "claimRef" | "release" | "selectedNode" | "binding";

export type Occasion = WriteKind | "bind call";

/** At a step of the storm, or just before or after the nth write of a kind by any Berth, or bind call of one. */
export type Moment =
  | { readonly step: number }
  | {
      readonly write: Occasion;
      readonly nth: number;
      readonly when: "before" | "after";
      /** What is picked is what the write is about. */
      readonly near?: boolean;
      /** So long after that. */
      readonly laterMs?: number;
    };

export interface ClaimSpec {
  readonly class: "local" | "csi" | "zonal";
  readonly gi: number;
}

/** `pick` chooses among what is there at that moment, by name order. */
export type Act =
  | {
      readonly do: "create pod";
      readonly name: string;
      readonly claims: readonly ClaimSpec[];
      readonly ephemeral: boolean;
    }
  | { readonly do: "share claims"; readonly name: string; readonly pick: number }
  | { readonly do: "delete pod"; readonly pick: number; readonly claims: boolean; readonly graceSeconds: number }
  | { readonly do: "recreate pod" | "place pod"; readonly pick: number }
  | { readonly do: "delete claim" | "recreate claim" | "edit claim" | "unselect claim"; readonly pick: number }
  | { readonly do: "steal volume" | "edit volume" | "delete volume" | "reset claimRef"; readonly pick: number }
  | { readonly do: "reserve volume"; readonly pick: number; readonly name: string }
  | { readonly do: "create volume"; readonly name: string; readonly pick: number; readonly gi: number }
  | { readonly do: "delete node"; readonly pick: number; readonly backAfterMs: number }
  | { readonly do: "relabel node"; readonly pick: number }
  | { readonly do: "delete class"; readonly pick: number; readonly backAfterMs: number }
  | { readonly do: "forget history" | "close watches" | "restart scheduler" | "delete lease" }
  /** What the scheduler has asked breaks off, and its bind calls are lost for a while; no Berth hears of either. */
  | { readonly do: "cut calls"; readonly lostMs: number }
  | {
      readonly do: "delay watch";
      readonly of: "pods" | "persistentvolumeclaims" | "persistentvolumes";
      readonly ms: number;
    }
  | {
      readonly do: "stop controller";
      readonly name: ControllerName;
      readonly backAfterMs: number;
      /** Whoever stopped it before does not bring it back earlier. */
      readonly isFirm?: boolean;
    }
  | { readonly do: "crash berth"; readonly pick: number; readonly touches: number; readonly backAfterMs: number }
  | { readonly do: "stop berth"; readonly pick: number; readonly backAfterMs: number }
  | { readonly do: "jump clock"; readonly pick: number; readonly ms: number };

export interface Action {
  readonly at: Moment;
  readonly act: Act;
}

export interface Plan {
  readonly seed: number;
  /** Events of the storm. */
  readonly steps: number;
  readonly berths: 1 | 2;
  readonly nodes: number;
  /** Sizes of each node's disks, GiB. */
  readonly disks: readonly (readonly number[])[];
  /** GiB of each node's pool. */
  readonly pools: readonly number[];
  readonly bindTimeoutMs: number;
  readonly faults: readonly Fault[];
  /** One message in so many of a Berth's goes wrong; a controller's less often. */
  readonly rarity: number;
  /** One CreateVolume in so many fails. */
  readonly createRarity: number;
  /** What the driver has left is published seconds late. */
  readonly publishesLate: boolean;
  /** Whether the quiet end is long even where all that must hold does earlier: what only time brings is seen in some runs. */
  readonly restsInFull: boolean;
  readonly actions: readonly Action[];
}

export const stepsDefault = 300;

/** All but what comes with trouble alone. */
const weights: readonly (readonly [number, Exclude<Act["do"], "cut calls" | "delay watch">])[] = [
  [8, "create pod"],
  [1, "share claims"],
  [3, "delete pod"],
  [2, "recreate pod"],
  [2, "delete claim"],
  [1, "recreate claim"],
  [1, "edit claim"],
  [1, "unselect claim"],
  [2, "steal volume"],
  [2, "edit volume"],
  [1, "delete volume"],
  [2, "reset claimRef"],
  [1, "reserve volume"],
  [2, "create volume"],
  [1, "delete node"],
  [1, "relabel node"],
  [1, "delete class"],
  [2, "forget history"],
  [1, "close watches"],
  [1, "restart scheduler"],
  [1, "delete lease"],
  [4, "stop controller"],
  [1, "place pod"],
  [4, "crash berth"],
  [1, "stop berth"],
  [1, "jump clock"],
];
const acts = weights.flatMap(([weight, act]) => Array.from({ length: weight }, () => act));
const controllers: readonly ControllerName[] = [
  "pv-controller",
  "pv-controller",
  "pv-controller",
  "kubelet",
  "garbage-collector",
  "ephemeral-controller",
];

export function planOf(seed: number, steps = stepsDefault): Plan {
  const dice = new Random(seed);
  const berths = dice.once(4) ? 2 : 1;
  const nodes = dice.int(2, 4);
  const disks = Array.from({ length: nodes }, () => {
    return Array.from({ length: dice.int(0, 4) }, () => dice.pick([5, 10, 10, 20]));
  });
  const pools = Array.from({ length: nodes }, () => dice.pick([0, 10, 20, 40]));
  const isFair = dice.once(12);
  const enabled = isFair ? [] : dice.once(2) ? faults : dice.some(faults, 2);
  const names = new Names(dice.pick(mixes));
  const first: Action[] = Array.from({ length: dice.int(1, 7) }, () => ({
    at: { step: 0 },
    act: createPod(dice, names),
  }));
  // With the PV controller away for a while, binds stand between their writes and their ends.
  const backAfterMs = dice.pick([2_000, 20_000, 60_000]);
  const away: Act = { do: "stop controller", name: "pv-controller", backAfterMs };
  if (!isFair && dice.once(3)) first.push({ at: { step: dice.int(0, 40) }, act: away });
  const more = Array.from({ length: isFair ? dice.int(0, 6) : dice.int(2, 20) }, (): Action => {
    const act = isFair ? createPod(dice, names) : drawAct(dice, names);
    return { at: drawMoment(dice, steps), act };
  });
  return {
    seed,
    steps,
    berths,
    nodes,
    disks,
    pools,
    bindTimeoutMs: dice.pick([20_000, 60_000, 600_000]),
    faults: enabled,
    rarity: dice.pick([3, 6, 12, 30]),
    publishesLate: dice.once(3),
    createRarity: dice.pick([2, 5, 1_000]),
    restsInFull: seed % 4 === 1,
    actions: [...first, ...more, ...(isFair ? [] : troubleOf(seed, steps))],
  };
}

/** The classes of a run's claims: where all draw on one, they fight for it. */
const mixes: readonly (readonly ClaimSpec["class"][])[] = [
  ["local", "local", "csi", "zonal"],
  ["local", "csi"],
  ["csi"],
  ["zonal", "local"],
];

class Names {
  readonly classes: readonly ClaimSpec["class"][];
  #count = 0;

  constructor(classes: readonly ClaimSpec["class"][]) {
    this.classes = classes;
  }

  next(): string {
    return `p${++this.#count}`;
  }
}

function drawMoment(dice: Random, steps: number): Moment {
  if (dice.once(3)) {
    const write = dice.pick(["claimRef", "claimRef", "release", "selectedNode", "selectedNode", "binding"] as const);
    return { write, nth: dice.int(1, 4), when: dice.pick(["before", "after"] as const) };
  }
  return { step: dice.int(0, Math.floor(steps * 0.9)) };
}

function createPod(dice: Random, names: Names): Act {
  const claims = Array.from({ length: dice.pick([0, 1, 1, 1, 2, 2, 3]) }, () => {
    return { class: dice.pick(names.classes), gi: dice.pick([1, 5, 8, 10, 15]) };
  });
  return { do: "create pod", name: names.next(), claims, ephemeral: dice.once(6) };
}

function drawAct(dice: Random, names: Names): Act {
  const kind = dice.pick(acts);
  const pick = dice.int(0, 999);
  const backAfterMs = dice.pick([0, 400, 3_000, 20_000]);
  switch (kind) {
    case "create pod":
      return createPod(dice, names);
    case "share claims":
    case "reserve volume":
      return { do: kind, name: names.next(), pick };
    case "delete pod":
      return { do: kind, pick, claims: dice.once(2), graceSeconds: dice.pick([0, 0, 30]) };
    case "create volume":
      return { do: kind, name: `v${names.next()}`, pick, gi: dice.pick([5, 10, 20]) };
    case "delete node":
    case "delete class":
    case "stop berth":
      return { do: kind, pick, backAfterMs };
    case "crash berth":
      return { do: kind, pick, backAfterMs, touches: dice.pick([1, 1, 2, 3, 5, 8, 13, 30]) };
    case "jump clock":
      return { do: kind, pick, ms: dice.pick([-3_600_000, -2_000, 90_000, 86_400_000]) };
    case "stop controller":
      return { do: kind, name: dice.pick(controllers), backAfterMs };
    case "forget history":
    case "close watches":
    case "restart scheduler":
    case "delete lease":
      return { do: kind };
    default:
      return { do: kind, pick };
  }
}

/** In one line, for traces. */
export function tellAct(act: Act): string {
  const { do: kind, ...facts } = act;
  return `${kind} ${JSON.stringify(facts)}`;
}
