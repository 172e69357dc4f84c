/** What the demo reads back: API objects, over the API alone, and Berth's explanations, over its debug listener. */
import type { Exchange } from "../../src/runtime/runtime.ts";
import type { Raw } from "../support/make.ts";

export interface Placement {
  readonly pod: string;
  readonly node: string;
  readonly claims: readonly { readonly claim: string; readonly volume: string; readonly surplus: string }[];
}

export class ClusterView {
  readonly #exchange: Exchange;
  readonly #debugUrl: string;

  constructor(exchange: Exchange, debugUrl: string) {
    this.#exchange = exchange;
    this.#debugUrl = debugUrl;
  }

  async list(plural: string): Promise<Raw[]> {
    const reply = await this.#exchange(
      { method: "GET", path: `/api/v1/${plural}`, headers: {} },
      new AbortController().signal,
    );
    const text = typeof reply.body === "string" ? reply.body : Buffer.from(reply.body as Uint8Array).toString("utf8");
    return (JSON.parse(text) as { items: Raw[] }).items;
  }

  async explain(pod: string): Promise<string> {
    const reply = await fetch(`${this.#debugUrl}/debug/explain/${pod}`, { headers: { accept: "text/plain" } });
    return reply.text();
  }

  /** Pods with a node, their claims bound, with what each volume has beyond what was asked. */
  async placements(): Promise<Placement[]> {
    const [pods, claims, volumes] = await Promise.all([
      this.list("pods"),
      this.list("persistentvolumeclaims"),
      this.list("persistentvolumes"),
    ]);
    return pods.flatMap((pod): Placement[] => {
      const node = text(pod, "spec", "nodeName");
      if (node === "") return [];
      const mounted = (at(pod, "spec", "volumes") ?? []) as { persistentVolumeClaim?: { claimName: string } }[];
      const names = mounted.flatMap(({ persistentVolumeClaim }) =>
        persistentVolumeClaim ? [persistentVolumeClaim.claimName] : [],
      );
      return [{ pod: keyOf(pod), node, claims: names.map((name) => served(name, claims, volumes)) }];
    });
  }
}

function served(name: string, claims: readonly Raw[], volumes: readonly Raw[]): Placement["claims"][number] {
  const claim = claims.find((one) => text(one, "metadata", "name") === name);
  const volumeName = text(claim, "spec", "volumeName");
  const volume = volumes.find((one) => text(one, "metadata", "name") === volumeName);
  const [asked, has] = [
    gibibytes(text(claim, "spec", "resources", "requests", "storage")),
    gibibytes(text(volume, "spec", "capacity", "storage")),
  ];
  return { claim: name, volume: volumeName, surplus: `${has - asked}Gi` };
}

/** The examples count in Gi and Ti; a provisioned volume may say bytes. */
function gibibytes(size: string): number {
  const match = /^(\d+)(Gi|Ti)?$/.exec(size);
  if (!match) return Number.NaN;
  const amount = Number(match[1]);
  return match[2] === "Ti" ? amount * 1024 : match[2] === "Gi" ? amount : amount / 1024 ** 3;
}

export function keyOf(object: Raw): string {
  return `${text(object, "metadata", "namespace")}/${text(object, "metadata", "name")}`;
}

export function at(object: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], object);
}

export function text(object: unknown, ...path: readonly string[]): string {
  return String(at(object, ...path) ?? "");
}
