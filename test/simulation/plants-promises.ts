/** Bugs of holds, assumptions and capacity: one for each arrow of design.md section 5's picture, and of section 6. */
import { ApiKubeWriter } from "../../src/binding/kube-writer.ts";
import { CapacityLedger } from "../../src/scheduling/capacity-ledger.ts";
import { Holds } from "../../src/scheduling/holds.ts";
import type { ClaimUid } from "../../src/scheduling/names.ts";
import { Reservations } from "../../src/scheduling/reservations.ts";
import { ClusterState } from "../../src/scheduling/state.ts";
import { inFront, nothing } from "./patching.ts";
import type { Plant } from "./plants.ts";
import type { World } from "./world.ts";

/** Changes of the kind end no hold. */
function withoutRelease(method: "set" | "delete", kind: string): () => void {
  return inFront(ClusterState.prototype, method, (own, self) => (...args) => {
    if (args[0] !== kind) return own(...args);
    const undo = inFront(self.reservations.holds as Holds, "release", nothing);
    own(...args);
    undo();
  });
}

function forgetWritten({ replicas }: World): void {
  const undo = inFront(ApiKubeWriter.prototype, "claimVolume", (own) => async (write) => {
    const outcome = await own(write);
    for (const { berth } of replicas) {
      const reservations = berth?.cluster.state.reservations;
      const pods = outcome.ok ? reservations?.of(write.claim.uid as ClaimUid)?.pods : undefined;
      for (const pod of [...(pods ?? [])]) reservations?.forget(pod);
    }
    return outcome;
  });
  undoing.add(undo);
}

/** What a plant that needs its world put in front of a class. */
const undoing = new Set<() => void>();
function undoAll(): void {
  for (const undo of undoing) undo();
  undoing.clear();
}

export const promisePlants: readonly Plant[] = [
  {
    name: "holds nothing after filter",
    of: "5: free to held",
    patch: () => inFront(Reservations.prototype, "hold", nothing),
  },
  {
    name: "assumes nothing",
    of: "5: held to assumed",
    patch: () => inFront(Reservations.prototype, "assume", () => () => ({ ok: true })),
  },
  {
    name: "assumes the first claim of a Pod alone",
    of: "5: all or none",
    patch: () =>
      inFront(
        Reservations.prototype,
        "assume",
        (own) => (pod, plan) => own(pod, { ...plan, claims: plan.claims.slice(0, 1) }),
      ),
  },
  {
    name: "keeps assuming a volume that the watch shows as claimed",
    of: "5: assumed to gone",
    patch: () => inFront(Reservations.prototype, "volumeSeen", nothing),
  },
  {
    name: "keeps assuming what the watch shows as selected",
    of: "5: assumed to gone",
    patch: () => inFront(Reservations.prototype, "claimSeen", nothing),
  },
  {
    name: "forgets an assumption as soon as its write is answered",
    of: "5: assumed until the watch shows it; 7.7",
    spoil: (_, world) => {
      undoAll();
      forgetWritten(world);
    },
    patch: () => undoAll,
  },
  {
    name: "keeps the assumptions of a bind that failed",
    of: "5: assumed to free",
    patch: () => inFront(Reservations.prototype, "forget", nothing),
  },
  {
    name: "keeps the holds of a Pod that is gone",
    of: "5: held to free, Pod gone",
    patch: () => withoutRelease("delete", "pod"),
  },
  {
    name: "keeps the holds of a Pod that another placed",
    of: "5: held to free, bound elsewhere",
    patch: () => withoutRelease("set", "pod"),
  },
  {
    name: "keeps holds for ever",
    of: "5: held to free, TTL",
    adapt: (options) => ({ ...options, config: { ...options.config, holds: { ...options.config.holds, ttlMs: 1e9 } } }),
  },
  {
    name: "adds a Pod's new holds to its old ones",
    of: "5: held to free, next filter",
    patch: () =>
      inFront(Holds.prototype, "hold", (own, self) => (pod, plans) => {
        const undo = inFront(self as Holds, "release", nothing);
        own(pod, plans);
        undo();
      }),
  },
  {
    name: "counts no capacity in flight",
    of: "6: in flight",
    patch: () => inFront(CapacityLedger.prototype, "demand", nothing),
  },
  {
    name: "ends a demand when its volume shows, before the pool is published again",
    of: "6: settling",
    patch: () =>
      inFront(CapacityLedger.prototype, "settle", (_, self) => (claim) => (self as CapacityLedger).end(claim)),
  },
  {
    name: "never ends a demand",
    of: "6: settled",
    patch: () => {
      const undo = [
        inFront(CapacityLedger.prototype, "conclude", nothing),
        inFront(CapacityLedger.prototype, "end", nothing),
      ];
      return () => undo.forEach((one) => void one());
    },
  },
];
