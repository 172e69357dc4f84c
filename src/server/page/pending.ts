/** Pending Pods with volumes: how each fared when kube-scheduler last asked. */
import { compareText } from "../../scheduling/names.ts";
import type { Pod } from "../../scheduling/objects.ts";
import type { Asked } from "../memory.ts";
import type { Parts } from "../parts.ts";

/** In the order of the list: whom somebody has to look after comes first. */
export const standings = ["refused", "error", "unasked", "gated", "fits", "binding"] as const;
export type Standing = (typeof standings)[number];

export interface PendingPod {
  readonly pod: Pod;
  readonly standing: Standing;
  readonly asked: Asked | undefined;
}

export interface PendingPods {
  readonly counts: Readonly<Record<Standing, number>>;
  readonly first: readonly PendingPod[];
  readonly count: number;
}

/** Those that wait longest first, within each standing. Pods without claims are none of Berth's. */
export function pendingPods({ cluster, memory, binder }: Parts, shownMax: number): PendingPods {
  const { state } = cluster;
  const counts: Record<Standing, number> = { refused: 0, error: 0, unasked: 0, gated: 0, fits: 0, binding: 0 };
  const all: PendingPod[] = [];
  for (const key of state.keys("pod")) {
    const pod = state.get("pod", key);
    if (!pod || pod.claims.length === 0 || pod.nodeName !== undefined || pod.finished || pod.deleting) continue;
    const asked = memory.asked(pod.uid);
    const standing = binder.runningOn(pod.uid) === undefined ? standingOf(pod, asked) : "binding";
    counts[standing]++;
    all.push({ pod, standing, asked });
  }
  all.sort(compare);
  return { counts, first: all.slice(0, shownMax), count: all.length };
}

function standingOf(pod: Pod, asked: Asked | undefined): Standing {
  if (pod.gated) return "gated";
  if (!asked) return "unasked";
  if (asked.outcome === "error") return "error";
  return asked.outcome === "feasible" ? "fits" : "refused";
}

function compare(a: PendingPod, b: PendingPod): number {
  const order = standings.indexOf(a.standing) - standings.indexOf(b.standing);
  const since = (a.asked?.firstAtMs ?? 0) - (b.asked?.firstAtMs ?? 0);
  return order || since || compareText(a.pod.key, b.pod.key);
}
