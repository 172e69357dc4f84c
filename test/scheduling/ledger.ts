/** A world whose capacity comes from everywhere at once: objects of a driver, annotations and allocatable resources of nodes. */
import { Translator } from "../../src/apis/kubernetes.ts";
import { type ClassName, className, type NodeName, nodeName } from "../../src/scheduling/names.ts";
import type { CapacitySource } from "../../src/scheduling/node-capacity.ts";
import { freeOf } from "../../src/scheduling/pools.ts";
import { type Bytes, parseBytes } from "../../src/scheduling/quantity.ts";
import { makeCapacity, makeClass, makeDriver, makeNode, makePV, makePVC, type Raw } from "../support/make.ts";
import { World } from "../support/world.ts";

export const pollMs = 60_000;
export const size = (text: string): Bytes => parseBytes(text) as Bytes;

/** The annotation, or the resource, is `example.com/CLASS`. */
export function source(name: string, more: Partial<CapacitySource> = {}): CapacitySource {
  return { from: "annotation", name: `example.com/${name}`, unit: size("1"), means: "free", ...more };
}

export interface Mapping {
  readonly sources?: Readonly<Record<string, CapacitySource>>;
  /** Pools by class. */
  readonly pools?: Readonly<Record<string, string>>;
}

export class Ledger {
  readonly world: World;
  readonly #translator: Translator;
  #version = 0;

  /** Classes without a source are of a driver that publishes objects. */
  constructor(classes: readonly string[], { sources = {}, pools = {} }: Mapping = {}) {
    const byClass = <T>(values: Readonly<Record<string, T>>): Map<ClassName, T> =>
      new Map(Object.entries(values).map(([name, value]) => [className(name), value]));
    this.world = new World({
      capacityPollIntervalMs: pollMs,
      capacitySources: byClass(sources),
      sharedPools: byClass(pools),
      provisioning: new Map(Object.keys(sources).map((name) => [className(name), "dynamic"])),
    });
    this.world.add(makeDriver("csi.example", true));
    for (const name of classes) {
      this.world.add(makeClass(name, { provisioner: name in sources ? "node.example" : "csi.example" }));
    }
    const annotations = Object.values(sources).map(({ name }) => name);
    this.#translator = new Translator({ nodeAnnotations: new Set(annotations) });
  }

  get state() {
    return this.world.state;
  }

  get version(): string {
    return String(++this.#version);
  }

  /** A node with annotations and allocatable resources; `example.com/` goes before each name. */
  node(
    name: string,
    values: { annotations?: Record<string, string>; allocatable?: Record<string, string> } = {},
  ): this {
    const raw = makeNode(name);
    const prefixed = (all: Record<string, string> = {}): Record<string, string> =>
      Object.fromEntries(Object.entries(all).map(([key, value]) => [`example.com/${key}`, value]));
    const metadata = { ...(raw["metadata"] as Raw), annotations: prefixed(values.annotations) };
    const status = { ...(raw["status"] as Raw), allocatable: { cpu: "8", ...prefixed(values.allocatable) } };
    const read = this.#translator.translate("node", {
      ...raw,
      metadata: { ...metadata, resourceVersion: this.version },
      status,
    });
    if (!read.ok) throw new Error(read.problem);
    this.state.set("node", read.key, read.object);
    return this;
  }

  object(name: string, of: string, on: string, capacity: string, more: { max?: string; created?: string } = {}): this {
    this.world.add(makeCapacity(name, { class: of, on, capacity, version: this.version, ...more }));
    return this;
  }

  claim(name: string, of: string, request: string, more: { selectedNode?: string; volume?: string } = {}): this {
    this.world.add(makePVC(name, { class: of, request, version: this.version, ...more }));
    return this;
  }

  /** The provisioner made the claim's volume. */
  volume(claim: string, of: string, on: string, capacity: string, version = this.version): this {
    const annotations = { "pv.kubernetes.io/provisioned-by": "csi.example" };
    this.world.add(
      makePV(`pv-${claim}`, { class: of, on, capacity, claim, claimUid: `u${claim}`, annotations, version }),
    );
    return this;
  }

  /** Pod `p-FIRST` gets all the claims on the node: promised, or why not. */
  assume(on: string, ...claims: string[]): string {
    const pod = this.world.pod(`p-${claims[0]}`, ...claims);
    const [reason] = this.world.reasons(pod, on);
    if (reason !== undefined) return reason;
    const outcome = this.state.reservations.assume(pod.uid, this.world.plan(pod, on));
    return outcome.ok ? "promised" : outcome.why;
  }

  /** What a Pod with these claims is told of the node; "" where it fits. */
  reason(on: string, ...claims: string[]): string {
    return this.world.reasons(this.world.pod(`q-${claims[0]}`, ...claims), on)[0] ?? "";
  }

  /** What is free for the class on the node, in each of its pools. */
  free(of: string, on: string): readonly Bytes[] {
    this.state.pools.update();
    const entry = this.state.topologies.nodes.get(nodeName(on) as NodeName);
    return entry ? this.state.pools.offersOn(entry, className(of)).map(({ pool }) => freeOf(pool)) : [];
  }

  wait(ms: number): this {
    this.world.now += ms;
    return this;
  }
}
