/** A thread of the crew: one job after the other. A run keeps to its thread, for planted bugs change classes. */
import { parentPort } from "node:worker_threads";
import { carryOut, type Job } from "./job.ts";

parentPort?.on("message", async (job: Job) => parentPort?.postMessage(await carryOut(job)));
