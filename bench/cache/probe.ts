/**
 * Loaded into Berth's process before Berth itself (`node --import`): how long its event loop was blocked, by the clock and by the
 * thread's own CPU time, which other processes on the machine do not stretch; and how much memory it holds. Needs Linux.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";
import { answer } from "./children.ts";

const tickMs = 5;
/** Shorter ones are not kept. */
const blockMinMs = 2;
const blocksMax = 100_000;

export interface Block {
  /** Milliseconds since 1970, when it began. */
  readonly at: number;
  readonly wallMs: number;
  /** Of this thread, between the two ticks. */
  readonly cpuMs: number;
}

export interface Memory {
  readonly residentMib: number;
  /** Since the last `begin`. */
  readonly peakMib: number;
  /** Seconds of CPU since the process began, all threads. */
  readonly cpuSeconds: number;
}

/** A collection of garbage that the thread waited for. */
export interface Collection {
  /** Milliseconds since 1970, when it began. */
  readonly at: number;
  readonly wallMs: number;
}

const blocks: Block[] = [];
const collections: Collection[] = [];
new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries()) {
    if (duration < blockMinMs || collections.length >= blocksMax) continue;
    collections.push({ at: performance.timeOrigin + startTime, wallMs: duration });
  }
}).observe({ entryTypes: ["gc"] });
let last = performance.now();
let lastCpu = cpuMs();

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

function tick(): void {
  const now = performance.now();
  const cpu = cpuMs();
  const wallMs = now - last - tickMs;
  if (wallMs >= blockMinMs && blocks.length < blocksMax) {
    blocks.push({ at: performance.timeOrigin + last, wallMs, cpuMs: cpu - lastCpu });
  }
  last = now;
  lastCpu = cpu;
}

function memory(): Memory {
  const status = readFileSync("/proc/self/status", "utf8");
  const mib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1_024;
  const { user, system } = process.cpuUsage();
  return { residentMib: mib("VmRSS"), peakMib: mib("VmHWM"), cpuSeconds: (user + system) / 1_000_000 };
}

setInterval(tick, tickMs).unref();
answer({
  begin: async () => {
    blocks.length = 0;
    collections.length = 0;
    // Sets the peak back to what is resident now. @see proc_pid_clear_refs(5)
    writeFileSync("/proc/self/clear_refs", "5");
    return { ...memory() };
  },
  read: async () => ({ ...memory(), blocks, collections }),
});
process.channel?.unref();
