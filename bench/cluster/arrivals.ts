/** Pods that come all at once, and when each is on a node: by the watch, as everybody else learns of it. */
import type { Raw } from "../../test/support/make.ts";
import { type Api, metaOf } from "./api.ts";

export interface Arrivals {
  readonly pods: number;
  readonly placed: number;
  /** From the first Pod's creation to the last one's placing; the whole window where some were not placed within it. */
  readonly seconds: number;
  /** From each placed Pod's creation to its placing, ascending. */
  readonly latencies: readonly number[];
}

/** Resolves when all are placed or the window is over. */
export async function arrive(api: Api, pods: readonly Raw[], windowMs: number): Promise<Arrivals> {
  const { version } = await api.list("Pod");
  const createdAt = new Map<string, number>();
  const placedAt = new Map<string, number>();
  const stopping = new AbortController();
  const watching = follow(api, version, stopping.signal, (name) => {
    if (!placedAt.has(name)) placedAt.set(name, performance.now());
    if (placedAt.size === pods.length) stopping.abort();
  });
  const begun = performance.now();
  const window = setTimeout(() => stopping.abort(), windowMs);
  try {
    await api.createAll(pods, (pod) => void createdAt.set(metaOf(pod).name, performance.now()));
    await watching;
  } finally {
    clearTimeout(window);
    stopping.abort();
  }
  const isWhole = placedAt.size === pods.length;
  const last = Math.max(begun, ...placedAt.values());
  const latencies = [...placedAt].map(([name, at]) => (at - (createdAt.get(name) ?? at)) / 1000);
  return {
    pods: pods.length,
    placed: placedAt.size,
    seconds: isWhole ? (last - begun) / 1000 : windowMs / 1000,
    latencies: latencies.toSorted((a, b) => a - b),
  };
}

async function follow(api: Api, version: string, signal: AbortSignal, placed: (name: string) => void): Promise<void> {
  for await (const { object } of api.watch("Pod", version, signal)) {
    const pod = object as Raw;
    if ((pod["spec"] as { nodeName?: string }).nodeName !== undefined) placed(metaOf(pod).name);
  }
}
