/**
 * kube-scheduler's score of a plan, for clusters that come from it: `StorageCapacityScoring`, off up to 1.36 and on from 1.37,
 * and `VolumeCapacityPriority` before. Whole numbers throughout, cut and rounded where upstream cuts and rounds.
 *
 * Plans are Berth's: where it matches better than upstream (departures D1 to D5), the numbers are those of the better match.
 * Sums do not wrap beyond 92 PB, where upstream's do.
 *
 * @see VB §5; kubernetes pkg/scheduler/framework/plugins/volumebinding/{scorer,volume_binding}.go, plugins/helper/shape_score.go
 */
import type { CapacityLedger } from "./capacity-ledger.ts";
import type { ClassName } from "./names.ts";
import type { Plan } from "./plan.ts";
import type { ShapePoint } from "./scoring.ts";

/** `MaxNodeScore` over `MaxCustomPriorityScore`: shapes are written in 0..10, nodes score 0..100. */
const scale = 10;

/** What the plan asks of one class, and what stands against it. */
interface ClassUse {
  requested: bigint;
  capacity: bigint;
}

/** 0..100. A plan with volumes is scored by these alone; one without, by the pools it takes from; one with neither scores 0. */
export function upstreamScore({ claims }: Plan, shape: readonly ShapePoint[], pools: CapacityLedger): number {
  const fixed = new Map<ClassName, ClassUse>();
  const made = new Map<ClassName, ClassUse>();
  for (const planned of claims) {
    if (planned.kind === "static") {
      const use = useOf(fixed, planned.volume.class);
      use.requested += planned.claim.request ?? 0n;
      use.capacity += planned.volume.capacity;
    }
    if (planned.kind !== "provision" || planned.pool === undefined) continue;
    const pool = pools.get(planned.pool);
    const object = pool?.offers.get(planned.class.name)?.newest;
    if (!object) continue;
    const use = useOf(made, planned.class.name);
    use.requested += planned.bytes;
    // Not summed: each claim of the class sees the pool as if it were alone. A maximum without a capacity crashes upstream.
    use.capacity = (object.capacity ?? object.maximumVolumeSize ?? 0n) - (pool?.used?.() ?? 0n);
  }
  const uses = fixed.size > 0 ? fixed : made;
  if (uses.size === 0) return 0;
  let sum = 0;
  for (const use of uses.values()) sum += shapeAt(shape, utilizationOf(use));
  return Math.round(sum / uses.size);
}

function useOf(uses: Map<ClassName, ClassUse>, name: ClassName): ClassUse {
  const use = uses.get(name) ?? { requested: 0n, capacity: 0n };
  uses.set(name, use);
  return use;
}

/** Percent, rounded down. What is more than full, or has no size, is full. */
function utilizationOf({ requested, capacity }: ClassUse): number {
  return capacity <= 0n || requested > capacity ? 100 : Number((requested * 100n) / capacity);
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
