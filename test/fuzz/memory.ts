/** Whether memory grows: the heap after a collection, at even distances over a run. */
import { bytesInUse, slopeOf } from "../../bench/growth.ts";

export interface Sample {
  readonly requests: number;
  readonly heapBytes: number;
  readonly handles: number;
}

export function sampled(requests: number): Sample {
  return { requests, heapBytes: bytesInUse(), handles: process.getActiveResourcesInfo().length };
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
  const bytesPerRequest = slopeOf(settled.map(({ requests, heapBytes }) => [requests, heapBytes]));
  return {
    bytesPerRequest,
    bytes: bytesPerRequest * (last.requests - first.requests),
    handles: last.handles - first.handles,
  };
}
