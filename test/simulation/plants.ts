/**
 * Bugs planted on purpose, one switch each: a simulation that finds none of them would prove nothing by finding nothing. They change
 * what Berth's parts are handed, or stand in front of a method from here; nothing in src/ knows of them.
 */
import type { Berth, BerthOptions } from "../../src/server/berth.ts";
import type { Life } from "./clock.ts";
import { bindingPlants } from "./plants-binding.ts";
import { cachePlants } from "./plants-cache.ts";
import { promisePlants } from "./plants-promises.ts";
import type { World } from "./world.ts";

export interface Plant {
  /** After "a Berth that". */
  readonly name: string;
  /** Where design.md says otherwise. */
  readonly of: string;
  /** Changes what an incarnation is handed. */
  readonly adapt?: (options: BerthOptions, life: Life) => BerthOptions;
  /** Changes an incarnation that was just started. */
  readonly spoil?: (berth: Berth, world: World) => void;
  /** Stands in front of methods of classes, for one run. Returns what takes it away again. */
  readonly patch?: () => () => void;
}

export const plants: readonly Plant[] = [...promisePlants, ...bindingPlants, ...cachePlants];
