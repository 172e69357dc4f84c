/** What can be provisioned from on the node that a Pod is being placed on, for the Pod's claims; looked up once a class. */
import type { ClaimUid } from "./names.ts";
import type { Open } from "./open-claim.ts";
import { type Room, roomsOf, whyNotProvision } from "./provisioning.ts";
import type { NodeReason } from "./reasons.ts";
import type { ClusterState } from "./state.ts";
import type { NodeEntry } from "./topology.ts";

/** Serves one decision. */
export class NodeRooms {
  readonly #state: ClusterState;
  readonly #own: ReadonlySet<ClaimUid>;
  readonly #rooms = new Map<string, Room[]>();
  #entry: NodeEntry | undefined;
  #avoid = false;
  #avoided = false;

  /** @param own  claims of the Pod: what is already promised to them counts as free for them */
  constructor(state: ClusterState, own: ReadonlySet<ClaimUid>) {
    this.#state = state;
    this.#own = own;
  }

  /** @param avoid  leave alone what other Pods hold */
  begin(entry: NodeEntry, avoid: boolean): void {
    // Clearing makes a new table.
    if (this.#rooms.size > 0) this.#rooms.clear();
    this.#entry = entry;
    this.#avoid = avoid;
  }

  /** Capacity was left alone only because another Pod holds it, since this was asked last. */
  takeAvoided(): boolean {
    const avoided = this.#avoided;
    this.#avoided = false;
    return avoided;
  }

  of(open: Open): Room[] {
    const { name } = open.class;
    const known = this.#rooms.get(name);
    if (known) return known;
    const rooms = roomsOf(this.#state, this.#here(), open, this.#own, this.#avoid);
    this.#rooms.set(name, rooms);
    if (this.#avoid && rooms.some(({ pool }) => pool.held > 0n)) this.#avoided = true;
    return rooms;
  }

  /** Why the claim alone cannot be provisioned here; undefined where it can. */
  whyNot(open: Open, isUnderway: boolean): NodeReason | undefined {
    // What a function captures is allocated as it begins: most nodes need not pay for that.
    return open.never ?? this.#whyNotNow(open, isUnderway);
  }

  #whyNotNow(open: Open, isUnderway: boolean): NodeReason | undefined {
    return whyNotProvision(this.#state, this.#here(), { provision: open, isUnderway }, () => this.of(open));
  }

  #here(): NodeEntry {
    if (!this.#entry) throw new Error("asked before any node was looked at");
    return this.#entry;
  }
}
