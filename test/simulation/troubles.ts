/**
 * What comes together now and then in a cluster and seldom by chance: things that happen to just the Pod that is being bound, while
 * the watch that would tell of them lags. Drawn by dice of their own, so that a seed's run is otherwise as it was.
 */
import { Random } from "../oracle/random.ts";
import type { Act, Action, ClaimSpec, Moment, Occasion } from "./plan.ts";

type Trouble = (dice: Random, steps: number) => Action[];

/** For one seed in two; not for those that were kept before there was trouble, whose runs stay what they were. */
export function troubleOf(seed: number, steps: number): Action[] {
  const dice = new Random(seed ^ 0x2ba5);
  const trouble = dice.once(2) ? dice.pick(troubles)(dice, steps) : [];
  const more = new Random(seed ^ 0x4e1f);
  return more.once(12) ? [...trouble, ...forsaken(more, steps)] : trouble;
}

function near(write: Occasion, nth: number, when: "before" | "after" = "before"): Moment {
  return { write, nth, when, near: true };
}

function delayed(dice: Random, of: Extract<Act, { do: "delay watch" }>["of"]): Act {
  return { do: "delay watch", of, ms: dice.pick([1_000, 4_000, 12_000, 30_000]) };
}

function away(backAfterMs: number): Act {
  return { do: "stop controller", name: "pv-controller", backAfterMs, isFirm: true };
}

/** The Pod, or what it mounts, is not what it was when the bind call comes, and the cache does not know. */
const overtaken: Trouble = (dice) => {
  const at = near("bind call", dice.int(1, 4));
  const pick = dice.int(0, 999);
  const [of, act] = dice.pick<readonly ["pods" | "persistentvolumeclaims", Act]>([
    ["persistentvolumeclaims", { do: "recreate claim", pick }],
    ["persistentvolumeclaims", { do: "recreate claim", pick }],
    ["persistentvolumeclaims", { do: "delete claim", pick }],
    ["pods", { do: "recreate pod", pick }],
    ["pods", { do: "delete pod", pick, claims: dice.once(2), graceSeconds: 0 }],
    ["pods", { do: "place pod", pick }],
  ]);
  return [
    { at, act: delayed(dice, of) },
    { at, act },
  ];
};

/** Somebody was faster, and again. */
const outrun: Trouble = (dice) => {
  const nth = dice.int(1, 3);
  const acts = dice
    .some(["steal volume", "edit volume", "delete volume", "steal volume"] as const)
    .map((kind): Act => ({ do: kind, pick: dice.int(0, 999) }));
  return [
    { at: near("claimRef", nth), act: delayed(dice, "persistentvolumes") },
    ...acts.map((act, more): Action => ({ at: near("claimRef", nth + more), act })),
  ];
};

/** The Pod goes, or somebody forgets it, while its claims wait to be bound. */
const abandoned: Trouble = (dice) => {
  const write = dice.pick<Occasion>(["claimRef", "claimRef", "selectedNode"]);
  const begun = near(write, dice.int(1, 3), "after");
  // At once, or when the bind has waited for a while.
  const at = dice.once(3) ? begun : { ...begun, laterMs: dice.pick([1_000, 3_000, 8_000]) };
  const pick = dice.int(0, 999);
  const act = dice.pick<Act>([
    { do: "delete pod", pick, claims: false, graceSeconds: 0 },
    { do: "delete pod", pick, claims: false, graceSeconds: 0 },
    { do: "delete pod", pick, claims: true, graceSeconds: 0 },
    { do: "recreate pod", pick },
    { do: "delete claim", pick },
    { do: "cut calls", lostMs: 90_000 },
    { do: "cut calls", lostMs: 90_000 },
    { do: "restart scheduler" },
  ]);
  return [
    { at: begun, act: away(90_000) },
    { at, act },
  ];
};

/** Bind calls break off unheard and no new ones arrive, filter calls do, and meanwhile the claims are bound. */
const forsaken: Trouble = (dice) => {
  const at = near(dice.pick<Occasion>(["claimRef", "selectedNode"]), dice.int(1, 2), "after");
  return [
    // Shorter than the shortest bind.
    { at, act: away(12_000) },
    { at: { ...at, laterMs: 500 }, act: { do: "cut calls", lostMs: 15_000 } },
  ];
};

/** A volume that a user set aside for a claim, whose Pod does not come to be. */
const reserved: Trouble = (dice) => {
  const act: Act = { do: "delete pod", pick: dice.int(0, 999), claims: false, graceSeconds: 0 };
  return [
    { at: { step: 0 }, act: away(dice.pick([20_000, 60_000])) },
    ...[1, 2, 3].map(
      (one): Action => ({
        at: { step: 1 },
        act: { do: "reserve volume", pick: dice.int(0, 999), name: `r${one}` },
      }),
    ),
    ...[1, 2, 3, 4].filter(() => dice.once(2)).map((nth): Action => ({ at: near("claimRef", nth, "after"), act })),
  ];
};

/** Volumes that are there, and nobody's to have: deleted while nobody lets them go, or left by a claim that is gone. */
const leftOver: Trouble = (dice, steps) => {
  const claims: ClaimSpec[] = [{ class: "zonal", gi: 1 }];
  const claiming = (name: string): Act => ({ do: "create pod", name, claims, ephemeral: false });
  const late = (): Moment => ({ step: dice.int(Math.floor(steps / 2), Math.floor(steps * 0.8)) });
  const left: Action[] = dice.once(2)
    ? [
        { at: { step: 0 }, act: away(dice.pick([20_000, 60_000])) },
        ...[1, 2, 3, 4].map((): Action => ({ at: { step: 1 }, act: { do: "delete volume", pick: dice.int(0, 999) } })),
      ]
    : [1, 2].map(
        (nth): Action => ({
          at: near("binding", nth, "after"),
          act: { do: "delete pod", pick: 0, claims: true, graceSeconds: 0 },
        }),
      );
  return [
    { at: { step: 0 }, act: claiming("l1") },
    ...left,
    ...["l2", "l3", "l4"].map((name): Action => ({ at: late(), act: claiming(name) })),
  ];
};

/** Things happen while the watches are down, and the history that would tell of them is gone when they are back. */
const compacted: Trouble = (dice, steps) => {
  const at = dice.once(2) ? near("binding", dice.int(1, 3), "after") : { step: dice.int(20, Math.floor(steps / 2)) };
  const pick = dice.int(0, 999);
  const acts: readonly Act[] = [
    { do: "close watches" },
    { do: "forget history" },
    { do: "delete pod", pick, claims: true, graceSeconds: 0 },
    { do: "delete volume", pick },
    { do: "edit claim", pick },
  ];
  return acts.map((act) => ({ at, act }));
};

/** Pools are too small for all, and room that was promised comes back without a word: only Berth can say so. */
const crowded: Trouble = (dice) => {
  const claims: ClaimSpec[] = [{ class: "csi", gi: 8 }];
  const gone: Act = { do: "delete pod", pick: dice.int(0, 999), claims: true, graceSeconds: 0 };
  return [
    ...["c1", "c2", "c3", "c4", "c5", "c6"].map((name): Action => {
      return { at: { step: 0 }, act: { do: "create pod", name, claims, ephemeral: false } };
    }),
    { at: near("selectedNode", 1, "after"), act: away(20_000) },
    ...[1, 2, 3].map((nth): Action => ({ at: near("selectedNode", nth, "after"), act: gone })),
  ];
};

const troubles: readonly Trouble[] = [
  overtaken,
  overtaken,
  outrun,
  abandoned,
  abandoned,
  reserved,
  leftOver,
  compacted,
  crowded,
];
