/** Nodes that say themselves what classes have on them, in annotations and allocatable resources, and can be told otherwise. */
import { Translator } from "../../src/apis/kubernetes.ts";
import { className, nodeName } from "../../src/scheduling/names.ts";
import type { CapacitySource } from "../../src/scheduling/node-capacity.ts";
import { makeNode, type Raw } from "./make.ts";
import type { World } from "./world.ts";

export class NodeValues {
  readonly #world: World;
  readonly #sources: ReadonlyMap<string, CapacitySource>;
  readonly #translator: Translator;
  readonly #labels = new Map<string, Record<string, string>>();
  /** By node, then by class. */
  readonly #values = new Map<string, Map<string, string>>();
  #version = 0;

  /** @param sources  by class */
  constructor(world: World, sources: ReadonlyMap<string, CapacitySource>) {
    this.#world = world;
    this.#sources = sources;
    this.#translator = new Translator({ nodeAnnotations: new Set([...sources.values()].map(({ name }) => name)) });
  }

  add(node: string, labels: Record<string, string>, values: Readonly<Record<string, string>> = {}): void {
    this.#labels.set(node, labels);
    this.#values.set(node, new Map(Object.entries(values)));
    this.#publish(node);
  }

  /** False where the class is not said by nodes, or not by this one. */
  grow(name: string, node: string, bytes: bigint): boolean {
    const known = this.#values.get(node)?.get(name);
    if (known === undefined) return false;
    this.#values.get(node)?.set(name, String(BigInt(known) + bytes));
    this.#publish(node);
    return true;
  }

  /**
   * @param bytes     what claims need
   * @param siblings  classes that draw on the same pool: they say the same
   */
  put(name: string, node: string, bytes: bigint, siblings: readonly string[]): void {
    const entry = this.#world.state.topologies.nodes.get(nodeName(node));
    const isTotal = this.#sources.get(name)?.means === "total";
    const used = entry && isTotal ? this.#world.state.pools.usage.on(entry, siblings.map(className)) : 0n;
    const said = siblings.flatMap((one) => this.#values.get(node)?.get(one) ?? []);
    this.#values.get(node)?.set(name, said[0] ?? String(bytes + used));
    this.#publish(node);
  }

  #publish(node: string): void {
    const raw = makeNode(node, this.#labels.get(node));
    const annotations: Record<string, string> = {};
    const allocatable: Record<string, string> = {};
    for (const [name, value] of this.#values.get(node) ?? []) {
      const source = this.#sources.get(name);
      if (source) (source.from === "annotation" ? annotations : allocatable)[source.name] = value;
    }
    const metadata = { ...(raw["metadata"] as Raw), annotations, resourceVersion: String(++this.#version) };
    const status = { ...(raw["status"] as Raw), allocatable };
    const read = this.#translator.translate("node", { ...raw, metadata, status });
    if (!read.ok) throw new Error(read.problem);
    this.#world.state.set("node", read.key, read.object);
  }
}
