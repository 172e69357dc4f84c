/** Says what must hold, after every step and at the end, and remembers the first thing that did not. */

import { CallJudge } from "./judge-calls.ts";
import { judgeEnd } from "./judge-end.ts";
import { PoolJudge } from "./judge-pools.ts";
import { SendJudge } from "./judge-sends.ts";
import { StateJudge } from "./judge-state.ts";
import { WriteJudge } from "./judge-writes.ts";
import type { Write } from "./server.ts";
import type { World } from "./world.ts";

export interface Finding {
  /** The sentence that did not hold: what a shrunk run must break as well. */
  readonly invariant: string;
  readonly text: string;
  readonly atMs: number;
}

export class Judge {
  readonly calls: CallJudge;
  readonly state: StateJudge;
  readonly sends: SendJudge;
  readonly writes: WriteJudge;
  readonly pools: PoolJudge;
  readonly #world: World;
  /** When each object was deleted, or began to be, by uid. */
  readonly goneAt = new Map<string, number>();
  finding: Finding | undefined;

  constructor(world: World) {
    this.#world = world;
    this.calls = new CallJudge(world, this);
    this.state = new StateJudge(world, this);
    this.sends = new SendJudge(world, this);
    this.writes = new WriteJudge(world, this);
    this.pools = new PoolJudge(world, this);
    world.server.onWrite = (write) => this.#see(write);
  }

  find(invariant: string, text: string): void {
    if (this.finding) return;
    this.finding = { invariant, text, atMs: this.#world.clock.now };
    this.#world.trace.add("world", () => `FOUND ${invariant}: ${text}`);
  }

  afterStep(): void {
    this.state.look();
  }

  end(): Promise<void> {
    return judgeEnd(this.#world, this);
  }

  /** Whether all that must hold in the end does already. */
  async isContent(): Promise<boolean> {
    let isContent = true;
    const find = (): void => {
      isContent = false;
    };
    await judgeEnd(this.#world, { find });
    return isContent;
  }

  #see(write: Write): void {
    const isGone = write.before && (!write.after || write.after.metadata.deletionTimestamp !== undefined);
    const { uid } = write.before?.metadata ?? {};
    if (isGone && !this.goneAt.has(uid)) this.goneAt.set(uid, this.#world.clock.now);
    this.#world.trigger.wrote(write);
    this.writes.see(write);
    this.pools.see(write);
  }
}
