/** What each Berth believes: its promises, looked at after every step in which they changed. */
import type { VolumeName } from "../../src/scheduling/names.ts";
import { totalOf } from "../../src/scheduling/pools.ts";
import { subtractBytes, zero } from "../../src/scheduling/quantity.ts";
import type { Berth } from "../../src/server/berth.ts";
import type { Judge } from "./judge.ts";
import type { Replica } from "./replica.ts";

interface Seen {
  readonly replica: Replica;
  readonly berth: Berth;
  generation: number;
  claims: Set<string>;
}

export class StateJudge {
  readonly #judge: Judge;
  readonly #seen = new Map<string, Seen>();

  constructor(judge: Judge) {
    this.#judge = judge;
  }

  started(berth: Berth, replica: Replica): void {
    this.#seen.set(replica.name, { replica, berth, generation: 0, claims: new Set() });
  }

  look(): void {
    for (const seen of this.#seen.values()) {
      if (seen.replica.berth !== seen.berth) continue;
      const { reservations } = seen.berth.cluster.state;
      if (reservations.generation === seen.generation) continue;
      seen.generation = reservations.generation;
      this.#lookAt(seen);
    }
  }

  #lookAt(seen: Seen): void {
    const { state } = seen.berth.cluster;
    const { assumptions } = state.reservations.dump();
    const volumes = new Map<string, string>();
    const before = seen.claims;
    seen.claims = new Set();
    for (const { claim, node, target } of assumptions) {
      const name = `${claim} ${node} ${target.kind === "volume" ? target.volume : target.class}`;
      seen.claims.add(name);
      if (target.kind === "volume") {
        const other = volumes.get(target.volume);
        if (other)
          this.#judge.find("no volume is assumed for two claims", `${target.volume} for ${claim} and ${other}`);
        volumes.set(target.volume, claim);
        if (!before.has(name)) this.#assumedVolume(seen, claim, target.volume);
      } else if (!before.has(name) && target.pool !== undefined) {
        const pool = state.pools.get(target.pool);
        const free = pool && subtractBytes(totalOf(pool), pool.promised);
        if (free !== undefined && free < zero) {
          this.#judge.find(
            "nothing is promised beyond what is free",
            `${claim} on ${node}: ${free} bytes of the pool are left`,
          );
        }
      }
    }
  }

  /** What another claim has by the Berth's own cache is never promised. */
  #assumedVolume({ berth, replica }: Seen, claim: string, name: VolumeName): void {
    const { state } = berth.cluster;
    const volume = state.volumes.get(name);
    const uid = volume?.claimRef?.uid;
    if (uid === undefined || uid === state.get("claim", claim)?.uid) return;
    this.#judge.find(
      "no volume is assumed for two claims",
      `${replica.name} assumes ${name} for ${claim}, its claimRef names another`,
    );
  }
}
