/** Threads that share the work of many runs. What comes of it is told in the order in which it was given out, whoever was faster. */
import { Worker } from "node:worker_threads";
import type { Done, Job } from "./job.ts";

/** What a run makes and drops: where it dies young nobody has to move it. */
const resourceLimits = { maxYoungGenerationSizeMb: 128 };

/** @param workers  threads; no more are made than there are jobs */
export async function* share(jobs: readonly Job[], workers: number): AsyncGenerator<Done> {
  const results = new Map<number, PromiseWithResolvers<Done>>();
  const resultOf = (at: number): PromiseWithResolvers<Done> => {
    const known = results.get(at) ?? Promise.withResolvers<Done>();
    results.set(at, known);
    return known;
  };
  let given = 0;
  const serve = async (worker: Worker): Promise<void> => {
    while (given < jobs.length) {
      const at = given++;
      const { resolve, reject } = resultOf(at);
      await give(worker, jobs[at] as Job).then(resolve, reject);
    }
  };
  const crew = Array.from({ length: Math.min(workers, jobs.length) }, () => {
    return new Worker(new URL("worker.ts", import.meta.url), { resourceLimits });
  });
  try {
    for (const worker of crew) void serve(worker);
    for (const at of jobs.keys()) {
      yield await resultOf(at).promise;
      results.delete(at);
    }
  } finally {
    for (const worker of crew) await worker.terminate();
  }
}

function give(worker: Worker, job: Job): Promise<Done> {
  return new Promise((resolve, reject) => {
    worker.once("error", reject);
    worker.once("message", (done: Done) => {
      worker.off("error", reject);
      resolve(done);
    });
    worker.postMessage(job);
  });
}
