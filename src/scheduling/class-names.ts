/** Classes as labels of metrics: so many by name, the rest together, for anybody may name a class that there is not. */
import { type ClassName, compareText } from "./names.ts";
import type { ClusterState } from "./state.ts";

/** Of volumes and claims that name no class. No class is named like this: names begin with a letter or a digit. */
const none = "_none";
/** Of all classes that have no label of their own. */
const other = "_other";

export class ClassNames {
  readonly #known: ReadonlySet<ClassName>;

  /**
   * Named are the classes that exist, then those that volumes have, each in the order of their names: both are made by
   * administrators. A claim's class may be anything.
   */
  constructor(state: ClusterState, max: number) {
    const classes = [...state.keys("class")].sort(compareText) as ClassName[];
    const ofVolumes = [...state.volumes.census.classes()].filter((name) => name !== "").sort(compareText);
    this.#known = new Set([...new Set([...classes, ...ofVolumes])].slice(0, max));
  }

  of(name: ClassName | undefined): string {
    if (name === "") return none;
    return name !== undefined && this.#known.has(name) ? name : other;
  }
}
