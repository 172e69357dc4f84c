/** Classes as labels of metrics: so many by name, the rest together, for anybody may name a class that there is not. */
import { type ClassName, compareText } from "./names.ts";
import type { ClusterState } from "./state.ts";

/** Of volumes and claims that name no class. No class is named like this: names begin with a letter or a digit. */
const none = "_none";
/** Of all classes that have no label of their own. */
const other = "_other";

export class ClassNames {
  readonly #known: ReadonlySet<ClassName>;

  constructor(known: ReadonlySet<ClassName>) {
    this.#known = known;
  }

  /**
   * Named are the classes that exist, then those that volumes have, each in the order of their names: both are made by
   * administrators. A claim's class may be anything.
   */
  static *inSteps(state: ClusterState, max: number): Generator<undefined, ClassNames> {
    const classes = [...state.keys("class")].sort(compareText) as ClassName[];
    const ofVolumes = new Set<ClassName>();
    for (const name of state.volumes.names()) {
      yield;
      const named = state.volumes.get(name)?.class;
      if (named !== undefined && named !== "") ofVolumes.add(named);
    }
    const all = new Set([...classes, ...[...ofVolumes].sort(compareText)]);
    return new ClassNames(new Set([...all].slice(0, max)));
  }

  of(name: ClassName | undefined): string {
    if (name === "") return none;
    return name !== undefined && this.#known.has(name) ? name : other;
  }
}
