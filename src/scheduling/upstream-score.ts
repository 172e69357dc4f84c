/**
 * kube-scheduler's score of a plan, for clusters that come from it: `StorageCapacityScoring`, off up to 1.36 and on from 1.37,
 * and `VolumeCapacityPriority` before. Whole numbers throughout, cut and rounded where upstream cuts and rounds.
 *
 * Plans are Berth's: where it matches better than upstream (departures D1 to D5), the numbers are those of the better match.
 * Sums do not wrap beyond 92 PB, where upstream's do.
 *
 * @see VB §5; kubernetes pkg/scheduler/framework/plugins/volumebinding/{scorer,volume_binding}.go, plugins/helper/shape_score.go
 */
import type { ClassName } from "./names.ts";
import { isSettled, type Open } from "./open-claim.ts";
import { type Gauge, type Outcome, provisioned } from "./outcome.ts";
import { percentOf, quickPercentOf } from "./percent.ts";
import { addBytes, type Bytes, subtractBytes, zero } from "./quantity.ts";
import type { ShapePoint } from "./scoring.ts";
import type { ClusterState } from "./state.ts";
import type { VolumeId } from "./volume-table.ts";

/** `MaxNodeScore` over `MaxCustomPriorityScore`: shapes are written in 0..10, nodes score 0..100. */
const scale = 10;

/**
 * 0..100. A plan with volumes is scored by these alone; one without, by the pools it takes from; one with neither scores 0. It
 * serves one call.
 */
export function upstreamGauge(state: ClusterState, open: readonly Open[]): Gauge {
  const score = new UpstreamScore(state, open);
  return (_node, outcome) => score.of(outcome);
}

class UpstreamScore {
  readonly #state: ClusterState;
  readonly #open: readonly Open[];
  readonly #asked: Float64Array;
  readonly #areSettled: readonly boolean[];
  /** By whole percent. */
  readonly #curve: Float64Array;
  /** Of the plan that is looked at, by class: what it asks, and what stands against that. */
  readonly #classes: ClassName[] = [];
  readonly #requested: Float64Array;
  readonly #capacity: Float64Array;

  constructor(state: ClusterState, open: readonly Open[]) {
    this.#state = state;
    this.#open = open;
    this.#asked = Float64Array.from(open, ({ want }) => want.size);
    this.#areSettled = open.map(isSettled);
    this.#requested = new Float64Array(open.length);
    this.#capacity = new Float64Array(open.length);
    this.#curve = Float64Array.from({ length: 101 }, (_, percent) => shapeAt(state.scoring.shape, percent));
  }

  of({ volumes, sizes, pools }: Outcome): number {
    this.#classes.length = 0;
    for (let index = 0; index < this.#open.length; index++) {
      const id = volumes[index] ?? provisioned;
      if (id !== provisioned) this.#count(this.#classOf(index, id), index, sizes);
    }
    if (this.#classes.length === 0) return this.#ofPools(pools);
    let sum = 0;
    for (let nth = 0; nth < this.#classes.length; nth++) {
      const percent = quickPercentOf(this.#requested[nth] ?? 0, this.#capacity[nth] ?? 0);
      sum += this.#curve[percent ?? this.#exactPercent(this.#classes[nth], volumes)] ?? 0;
    }
    return Math.round(sum / this.#classes.length);
  }

  /** A volume that was chosen is of the claim's class; one that was promised before may be of another by now. */
  #classOf(index: number, id: VolumeId): ClassName {
    const open = this.#open[index] as Open;
    return this.#areSettled[index] ? this.#state.volumes.at(id).class : open.class.name;
  }

  #count(name: ClassName, index: number, sizes: Float64Array): void {
    let nth = this.#classes.indexOf(name);
    if (nth < 0) {
      nth = this.#classes.push(name) - 1;
      this.#requested[nth] = 0;
      this.#capacity[nth] = 0;
    }
    this.#requested[nth] = (this.#requested[nth] ?? 0) + (this.#asked[index] ?? 0);
    this.#capacity[nth] = (this.#capacity[nth] ?? 0) + (sizes[index] ?? 0);
  }

  #exactPercent(name: ClassName | undefined, volumes: readonly VolumeId[]): number {
    let requested = zero;
    let capacity = zero;
    for (const [index, id] of volumes.entries()) {
      if (id === provisioned || this.#classOf(index, id) !== name) continue;
      requested = addBytes(requested, (this.#open[index] as Open).bytes);
      capacity = addBytes(capacity, this.#state.volumes.at(id).capacity);
    }
    return percentOf(requested, capacity);
  }

  #ofPools(pools: Outcome["pools"]): number {
    const uses = new Map<ClassName, { requested: Bytes; capacity: Bytes }>();
    for (const [index, { class: storageClass, bytes }] of this.#open.entries()) {
      const pool = pools[index];
      const object = pool?.offers.get(storageClass.name)?.newest;
      if (!object) continue;
      const use = uses.get(storageClass.name) ?? { requested: zero, capacity: zero };
      uses.set(storageClass.name, use);
      use.requested = addBytes(use.requested, bytes);
      // Not summed: each claim of the class sees the pool as if it were alone. A maximum without a capacity crashes upstream.
      use.capacity = subtractBytes(object.capacity ?? object.maximumVolumeSize ?? zero, pool?.used?.() ?? zero);
    }
    if (uses.size === 0) return 0;
    let sum = 0;
    for (const { requested, capacity } of uses.values()) sum += this.#curve[percentOf(requested, capacity)] ?? 0;
    return Math.round(sum / uses.size);
  }
}

/** Points are joined by lines; the part above the lower point is cut toward zero. Beyond the ends the curve is level. */
function shapeAt(shape: readonly ShapePoint[], utilization: number): number {
  let before: ShapePoint | undefined;
  for (const point of shape) {
    if (utilization <= point.utilization) return between(before ?? point, point, utilization);
    before = point;
  }
  return (before?.score ?? 0) * scale;
}

function between(from: ShapePoint, to: ShapePoint, utilization: number): number {
  const width = to.utilization - from.utilization;
  if (width === 0) return to.score * scale;
  const rise = (to.score - from.score) * scale * (utilization - from.utilization);
  return from.score * scale + Math.trunc(rise / width);
}
