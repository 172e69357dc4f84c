/** What each Berth believes: its promises, looked at after every step in which they changed. */
import type { Change } from "../../src/cluster/cluster.ts";
import type { PodUid } from "../../src/scheduling/names.ts";
import type { PlannedClaim } from "../../src/scheduling/plan.ts";
import { freeOf, isPublished } from "../../src/scheduling/pools.ts";
import { zero } from "../../src/scheduling/quantity.ts";
import type { Assumption } from "../../src/scheduling/reservations.ts";
import type { Berth } from "../../src/server/berth.ts";
import { selectedNode } from "./cluster.ts";
import type { Judge } from "./judge.ts";
import type { Replica } from "./replica.ts";
import type { World } from "./world.ts";

/** Longer than a few requests that get no answer, and what follows from them. */
const waitMaxMs = 45_000;

type Promised = Pick<Assumption, "claim" | "claimUid" | "node" | "target">;

interface Seen {
  readonly replica: Replica;
  readonly berth: Berth;
  generation: number;
  promised: ReadonlyMap<string, Promised>;
  /** Pods that its watch showed gone, or on a node, since the last look. */
  readonly left: Set<PodUid>;
  /** The same, until nobody waits for their bind any more, and since when. */
  readonly leaving: Map<PodUid, number>;
  readonly pods: Map<string, PodUid>;
}

export class StateJudge {
  readonly #world: World;
  readonly #judge: Judge;
  readonly #seen = new Map<string, Seen>();

  constructor(world: World, judge: Judge) {
    this.#world = world;
    this.#judge = judge;
  }

  started(berth: Berth, replica: Replica): void {
    const seen: Seen = {
      replica,
      berth,
      generation: 0,
      promised: new Map(),
      left: new Set(),
      leaving: new Map(),
      pods: new Map(),
    };
    this.#seen.set(replica.name, seen);
    berth.cluster.subscribe((change) => notePod(seen, change));
    this.#watchHolds(seen);
  }

  /** Whoever is to hold a volume that is free does, in that very turn. */
  #watchHolds({ berth, replica, left, leaving }: Seen): void {
    const { reservations } = berth.cluster.state;
    const hold = reservations.hold.bind(reservations);
    reservations.hold = (pod, plans) => {
      hold(pod, plans);
      // A call that was on its way when its Pod went: nobody can know, and its hold ends by the clock.
      if (left.delete(pod)) leaving.set(pod, this.#world.clock.now);
      const isOpen = ({ kind, claim, ...planned }: PlannedClaim): boolean =>
        kind === "static" &&
        "volume" in planned &&
        planned.volume.claimRef === undefined &&
        !reservations.of(claim.uid);
      if (!plans.some(({ claims }) => claims.some(isOpen))) return;
      if (reservations.holds.dump().some((held) => held.pod === pod)) return;
      this.#judge.find("who passes filter holds what it would get", `${replica.name}: ${pod}`);
    };
  }

  look(): void {
    for (const seen of this.#seen.values()) {
      if (seen.replica.berth !== seen.berth) continue;
      if (seen.left.size > 0) this.#lookAtHolds(seen);
      if (seen.leaving.size > 0) this.#lookAtWaits(seen);
      const { reservations } = seen.berth.cluster.state;
      if (reservations.generation === seen.generation) continue;
      seen.generation = reservations.generation;
      this.#lookAt(seen);
    }
  }

  #lookAt(seen: Seen): void {
    const { state } = seen.berth.cluster;
    const volumes = new Map<string, string>();
    const before = seen.promised;
    const now = new Map<string, Promised>();
    for (const { claim, node, target } of state.reservations.dump().assumptions) {
      const promised = this.#find(state, claim);
      now.set(
        `${promised?.claimUid} ${node} ${target.kind === "volume" ? target.volume : target.class}`,
        promised as Promised,
      );
      if (target.kind !== "volume") continue;
      const other = volumes.get(target.volume);
      if (other) this.#judge.find("no volume is assumed for two claims", `${target.volume} for ${claim} and ${other}`);
      volumes.set(target.volume, claim);
    }
    seen.promised = now;
    for (const [name, promised] of now) if (!before.has(name)) this.#lookAtNew(seen, promised);
    for (const [name, promised] of before) if (!now.has(name)) this.#lookAtGone(seen, promised);
  }

  #find(state: Berth["cluster"]["state"], claim: string): Promised | undefined {
    const uid = state.get("claim", claim)?.uid;
    return uid === undefined ? undefined : state.reservations.of(uid);
  }

  #lookAtNew({ berth, replica }: Seen, promised: Promised | undefined): void {
    if (!promised) return;
    const { state } = berth.cluster;
    const { claim, claimUid, node, target } = promised;
    if (target.kind === "volume") {
      const uid = state.volumes.get(target.volume)?.claimRef?.uid;
      if (uid === undefined || uid === claimUid) return;
      this.#judge.find(
        "no volume is assumed for two claims",
        `${replica.name} assumes ${target.volume} for ${claim}, its claimRef names another`,
      );
      return;
    }
    const pool = target.pool === undefined ? undefined : state.pools.get(target.pool);
    // A class that went while the promise was made takes its publication along: of that pool nothing is known any more.
    if (pool && isPublished(pool) && freeOf(pool) < zero) {
      this.#judge.find(
        "nothing is promised beyond what is free",
        `${claim} on ${node}: ${freeOf(pool)} bytes of the pool are left`,
      );
    }
  }

  /** A promise ends when the watch shows its write, or when there is none. */
  #lookAtGone({ berth, replica }: Seen, promised: Promised | undefined): void {
    if (!promised) return;
    const { state } = berth.cluster;
    const { claim, claimUid, node, target } = promised;
    // By its uid it may stand still, though the claim is gone from the cache.
    if (state.reservations.of(claimUid)) return;
    const find = (text: string): void => {
      this.#judge.find(
        "what is written is promised until the watch shows it",
        `${replica.name} forgets ${claim}: ${text}`,
      );
    };
    if (target.kind === "volume") {
      const there = this.#world.server.get("persistentvolumes", target.volume);
      const cached = state.volumes.get(target.volume);
      // By a Berth: where the PV controller gave the claim what a user had set aside for it, no promise was owed.
      const isOurs = this.#judge.writes.ours.get(target.volume) === claimUid;
      const isWritten = isOurs && there?.metadata.uid === target.uid && there.spec.claimRef?.uid === claimUid;
      if (isWritten && cached?.uid === target.uid && cached.claimRef?.uid !== claimUid)
        find(`${target.volume} is its own`);
      return;
    }
    const there = this.#world.server.get("persistentvolumeclaims", claim);
    const cached = state.get("claim", claim);
    const isWritten = there?.metadata.uid === claimUid && there.metadata.annotations?.[selectedNode] === node;
    const isShown = cached?.uid !== claimUid || cached.selectedNode === node || cached.volumeName !== undefined;
    if (isWritten && !isShown) find(`selected-node is ${node}`);
  }

  /** Who is gone, or has a node, holds nothing. */
  #lookAtHolds(seen: Seen): void {
    const { holds } = seen.berth.cluster.state.reservations;
    if (holds.count > 0) {
      for (const { pod, volumes, pools } of holds.dump()) {
        if (seen.left.has(pod))
          this.#judge.find(
            "who is gone or placed holds nothing",
            `${seen.replica.name}: ${pod} ${[...volumes, ...pools]}`,
          );
      }
    }
    for (const pod of seen.left) seen.leaving.set(pod, this.#world.clock.now);
    seen.left.clear();
  }

  /** And nobody waits for its bind long: what is to be taken back for it is soon. */
  #lookAtWaits({ replica, leaving }: Seen): void {
    const { clock } = this.#world;
    for (const [pod, since] of leaving) {
      if (!this.#judge.calls.isWaitedFor(replica.life, pod)) leaving.delete(pod);
      else if (clock.now - since > waitMaxMs)
        this.#judge.find("who is gone or placed is not waited for", `${replica.name}: ${pod} since ${since}`);
    }
  }
}

function notePod(seen: Seen, { kind, key }: Change): void {
  if (kind !== "pod") return;
  const pod = seen.berth.cluster.state.get("pod", key);
  const before = seen.pods.get(key);
  if (before !== undefined && (pod?.uid !== before || pod.nodeName !== undefined)) seen.left.add(before);
  if (pod && pod.nodeName === undefined) seen.pods.set(key, pod.uid);
  else seen.pods.delete(key);
}
