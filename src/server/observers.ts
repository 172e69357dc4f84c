/** What the other rooms tell of themselves, as metrics. */
import type { BinderObserver } from "../binding/ports.ts";
import type { ClusterObserver } from "../cluster/cluster.ts";
import type { Metrics } from "../metrics.ts";

export function binderObserver(metrics: Metrics): BinderObserver {
  return {
    ended: (ending, durationMs) => {
      metrics.binds.inc({ ending });
      metrics.bindDuration.observe({ ending }, durationMs / 1000);
    },
    wrote: (write, result, durationMs) => metrics.writeDuration.observe({ write, result }, durationMs / 1000),
    provisionerRefused: () => metrics.provisionerRefusals.inc(),
    waited: (durationMs) => metrics.bindWait.observe(durationMs / 1000),
  };
}

export function clusterObserver(metrics: Metrics): ClusterObserver {
  return {
    listed: (kind) => metrics.lists.inc({ kind }),
    watchEnded: (kind, how) => metrics.watchEnds.inc({ kind, how }),
    setAside: (kind) => metrics.setAside.inc({ kind }),
    changed: (kind) => metrics.changes.inc({ kind }),
  };
}
