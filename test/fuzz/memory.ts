/** Whether memory grows: the heap after a collection, at even distances over a run. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose_gc");
const collect = runInNewContext("gc") as () => void;

export interface Sample {
  readonly requests: number;
  readonly heapBytes: number;
  readonly handles: number;
}

export function sampled(requests: number): Sample {
  // What was only just let go is found by the second look.
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return {
    requests,
    // Bodies lie outside of the heap.
    heapBytes: heapUsed + external,
    handles: process.getActiveResourcesInfo().length,
  };
}

export interface Growth {
  /** Of a line through the samples, those of the first third left out: caches fill there. */
  readonly bytesPerRequest: number;
  /** What that line rises by over the run. */
  readonly bytes: number;
  readonly handles: number;
}

export function growthOf(samples: readonly Sample[]): Growth {
  const settled = samples.slice(Math.floor(samples.length / 3));
  const [first, last] = [settled.at(0), settled.at(-1)];
  if (!first || !last || settled.length < 3) throw new Error("too few samples to tell growth from noise");
  const meanAt = mean(settled.map(({ requests }) => requests));
  const meanHeap = mean(settled.map(({ heapBytes }) => heapBytes));
  let above = 0;
  let below = 0;
  for (const { requests, heapBytes } of settled) {
    above += (requests - meanAt) * (heapBytes - meanHeap);
    below += (requests - meanAt) ** 2;
  }
  const bytesPerRequest = above / below;
  return {
    bytesPerRequest,
    bytes: bytesPerRequest * (last.requests - first.requests),
    handles: last.handles - first.handles,
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
