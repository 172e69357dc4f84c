/** CPU, memory and pod counts, in the units kube-scheduler adds them up in. */
import { parseBytes } from "../../scheduling/quantity.ts";
import type { Labels, Pod } from "../objects.ts";

export interface Resources {
  readonly milliCpu: number;
  readonly memoryBytes: number;
}

const nothing: Resources = { milliCpu: 0, memoryBytes: 0 };

/** "250m" or "1.5" as thousandths of a core, rounded up. */
function parseMilliCpu(text: string): number {
  const amount = text.endsWith("m") ? Number(text.slice(0, -1)) : Number(text) * 1000;
  return Number.isFinite(amount) ? Math.ceil(amount - 1e-9) : 0;
}

export function parseResources(amounts: Labels = {}): Resources {
  return {
    milliCpu: parseMilliCpu(amounts["cpu"] ?? "0"),
    memoryBytes: Number(parseBytes(amounts["memory"] ?? "0") ?? 0n),
  };
}

export function add(a: Resources, b: Resources): Resources {
  return { milliCpu: a.milliCpu + b.milliCpu, memoryBytes: a.memoryBytes + b.memoryBytes };
}

function larger(a: Resources, b: Resources): Resources {
  return { milliCpu: Math.max(a.milliCpu, b.milliCpu), memoryBytes: Math.max(a.memoryBytes, b.memoryBytes) };
}

/**
 * What a pod takes of its node: its containers and sidecars together, or the largest init container with the sidecars
 * started before it if that is more. Source: component-helpers resource/helpers.go PodRequests.
 */
export function requestsOf(pod: Pod): Resources {
  return sumOf(pod, parseResources);
}

/** The same for scores, where a container that asks for nothing counts all the same. Source: scheduler/util/pod_resources.go. */
export function nonZeroRequestsOf(pod: Pod): Resources {
  return sumOf(pod, (amounts) => parseResources({ cpu: "100m", memory: "200Mi", ...amounts }));
}

function sumOf({ spec }: Pod, read: (amounts: Labels | undefined) => Resources): Resources {
  let running = nothing;
  for (const { resources } of spec.containers ?? []) running = add(running, read(resources?.requests));
  let sidecars = nothing;
  let initial = nothing;
  for (const { resources, restartPolicy } of spec.initContainers ?? []) {
    const own = read(resources?.requests);
    if (restartPolicy === "Always") sidecars = add(sidecars, own);
    initial = larger(initial, restartPolicy === "Always" ? sidecars : add(sidecars, own));
  }
  return add(larger(add(running, sidecars), initial), parseResources(spec.overhead));
}
