/** Bugs planted on purpose. */
import type { Berth, BerthOptions } from "../../src/server/berth.ts";
import type { Life } from "./clock.ts";
import type { World } from "./world.ts";

export interface Plant {
  readonly name: string;
  readonly adapt?: (options: BerthOptions, life: Life) => BerthOptions;
  readonly spoil?: (berth: Berth, world: World) => void;
}

export const plants: readonly Plant[] = [];
