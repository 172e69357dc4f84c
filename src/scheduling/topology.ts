/**
 * Which nodes a selector means, kept up to date as nodes come, go and change labels.
 *
 * Every volume and capacity object with an equal selector shares one `Topology`; each node lists the topologies it is in.
 * A decision then looks only at what its node can reach, however many volumes the cluster has (departure D8).
 */

import { deleteIn, mapIn, setIn } from "./indexes.ts";
import type { ClassName, NodeName } from "./names.ts";
import { type NodeId, NodeNumbers } from "./node-numbers.ts";
import type { Node } from "./objects.ts";
import type { Offer } from "./pools.ts";
import { type LabelSelector, matchesLabels, matchesNode, type NodeSelector } from "./selectors.ts";
import type { Slab } from "./slab.ts";

/** A set of nodes, and what can be reached from them. */
export class Topology {
  readonly identity: string;
  readonly pins: readonly Pin[] | undefined;
  readonly matches: (node: Node) => boolean;
  readonly members = new Set<NodeEntry>();
  /** Free volumes by class, smallest first. */
  readonly slabs = new Map<ClassName, Slab>();
  /** Capacity to provision from, by class. */
  readonly pools = new Map<ClassName, Offer>();
  /** Objects that refer to it; at zero it is dropped. */
  uses = 0;

  constructor(identity: string, pins: readonly Pin[] | undefined, matches: (node: Node) => boolean) {
    this.identity = identity;
    this.pins = pins;
    this.matches = matches;
  }
}

export interface NodeEntry {
  readonly id: NodeId;
  node: Node;
  /** Those it is in, besides `everywhere`. */
  topologies: Topology[];
}

/** A label's key and value, at least one of which every matching node carries. */
export interface Pin {
  readonly key: string;
  readonly value: string;
}

/** Stands for the field metadata.name among label keys, where no real key can be empty. */
const nameKey = "";

export class Topologies {
  /** What is reachable from every node: volumes without affinity. */
  readonly everywhere = new Topology("*", undefined, () => true);
  readonly nodes = new Map<NodeName, NodeEntry>();
  readonly numbers = new NodeNumbers(this.nodes);
  /** Called before and after the members of a topology change. */
  membersChange: (topology: Topology) => void = () => {};
  readonly #byIdentity = new Map<string, Topology>();
  readonly #byPin = new Map<string, Map<string, Set<Topology>>>();
  readonly #unpinned = new Set<Topology>();
  /** Nodes by the label keys that some pin uses. */
  readonly #nodesByLabel = new Map<string, Map<string, Set<NodeEntry>>>();

  setNode(node: Node): void {
    const known = this.nodes.get(node.name);
    if (known && sameLabels(known.node, node)) {
      known.node = node;
      return;
    }
    if (known) this.deleteNode(node.name);
    const entry = this.numbers.add(node.name, (id): NodeEntry => ({ id, node, topologies: [] }));
    this.nodes.set(node.name, entry);
    for (const key of this.#nodesByLabel.keys()) this.#indexNode(entry, key);
    for (const topology of this.#candidates(node)) if (topology.matches(node)) this.#join(topology, entry);
  }

  /** Whether the node is in the topology. */
  reaches(entry: NodeEntry, topology: Topology): boolean {
    return topology === this.everywhere || topology.members.has(entry);
  }

  deleteNode(name: NodeName): void {
    const entry = this.nodes.get(name);
    if (!entry) return;
    for (const topology of entry.topologies) {
      this.membersChange(topology);
      topology.members.delete(entry);
      this.membersChange(topology);
    }
    for (const [key, byValue] of this.#nodesByLabel) {
      const value = labelOf(entry.node, key);
      if (value !== undefined) deleteIn(byValue, value, entry);
    }
    this.nodes.delete(name);
    this.numbers.delete(entry.id);
  }

  /** The topology of a volume's affinity; counts one use. */
  ofNodeSelector(selector: NodeSelector | undefined): Topology {
    if (selector === undefined) return this.everywhere;
    return this.#use(
      `n${selector.identity}`,
      () => pinsOfNodeSelector(selector),
      (node) => matchesNode(selector, node.labels, node.name),
    );
  }

  /** The topology of a capacity object; counts one use. */
  ofLabelSelector(selector: LabelSelector): Topology {
    return this.#use(
      `l${selector.identity}`,
      () => pinsOfLabelSelector(selector),
      (node) => matchesLabels(selector, node.labels),
    );
  }

  release(topology: Topology): void {
    if (topology === this.everywhere || --topology.uses > 0) return;
    this.#byIdentity.delete(topology.identity);
    for (const entry of topology.members) entry.topologies = entry.topologies.filter((other) => other !== topology);
    topology.members.clear();
    if (!topology.pins) this.#unpinned.delete(topology);
    for (const { key, value } of topology.pins ?? []) {
      const byValue = this.#byPin.get(key);
      if (byValue) deleteIn(byValue, value, topology);
    }
  }

  #use(identity: string, pinsOf: () => readonly Pin[] | undefined, matches: (node: Node) => boolean): Topology {
    let topology = this.#byIdentity.get(identity);
    if (!topology) {
      topology = new Topology(identity, pinsOf(), matches);
      this.#byIdentity.set(identity, topology);
      this.#register(topology);
    }
    topology.uses++;
    return topology;
  }

  #register(topology: Topology): void {
    if (!topology.pins) {
      this.#unpinned.add(topology);
      for (const entry of this.nodes.values()) if (topology.matches(entry.node)) this.#join(topology, entry);
      return;
    }
    for (const { key, value } of topology.pins) {
      setIn(mapIn(this.#byPin, key), value).add(topology);
      for (const entry of this.#nodesWith(key).get(value) ?? []) {
        if (!topology.members.has(entry) && topology.matches(entry.node)) this.#join(topology, entry);
      }
    }
  }

  #join(topology: Topology, entry: NodeEntry): void {
    this.membersChange(topology);
    topology.members.add(entry);
    entry.topologies.push(topology);
    this.membersChange(topology);
  }

  #nodesWith(key: string): Map<string, Set<NodeEntry>> {
    const known = this.#nodesByLabel.get(key);
    if (known) return known;
    const index = mapIn(this.#nodesByLabel, key);
    for (const entry of this.nodes.values()) this.#indexNode(entry, key);
    return index;
  }

  #indexNode(entry: NodeEntry, key: string): void {
    const value = labelOf(entry.node, key);
    if (value !== undefined) setIn(mapIn(this.#nodesByLabel, key), value).add(entry);
  }

  #candidates(node: Node): Set<Topology> {
    const found = new Set(this.#unpinned);
    for (const [key, byValue] of this.#byPin) {
      const value = labelOf(node, key);
      if (value !== undefined) for (const topology of byValue.get(value) ?? []) found.add(topology);
    }
    return found;
  }
}

function labelOf(node: Node, key: string): string | undefined {
  return key === nameKey ? node.name : node.labels.get(key);
}

function sameLabels(a: Node, b: Node): boolean {
  if (a.labels.size !== b.labels.size) return false;
  for (const [key, value] of a.labels) if (b.labels.get(key) !== value) return false;
  return true;
}

/** One pin per value of the narrowest `In` of each term; undefined when some term has none. */
function pinsOfNodeSelector(selector: NodeSelector): readonly Pin[] | undefined {
  const pins: Pin[] = [];
  for (const { labels, fields } of selector.terms) {
    // A term without requirements matches no node and needs no pin.
    if (labels.length === 0 && fields.length === 0) continue;
    const choices = [
      ...fields.map(({ key, operator, values }) => ({
        key: key === "metadata.name" ? nameKey : undefined,
        operator,
        values,
      })),
      ...labels,
    ];
    const narrowest = narrowestIn(choices);
    if (!narrowest) return undefined;
    for (const value of narrowest.values) pins.push({ key: narrowest.key, value });
  }
  return pins;
}

function pinsOfLabelSelector(selector: LabelSelector): readonly Pin[] | undefined {
  const narrowest = narrowestIn(selector.requirements);
  return narrowest && [...narrowest.values].map((value) => ({ key: narrowest.key, value }));
}

interface Choice {
  readonly key: string | undefined;
  readonly operator: string;
  readonly values: ReadonlySet<string>;
}

function narrowestIn(choices: readonly Choice[]): { key: string; values: ReadonlySet<string> } | undefined {
  let best: { key: string; values: ReadonlySet<string> } | undefined;
  for (const { key, operator, values } of choices) {
    if (operator !== "In" || key === undefined) continue;
    if (!best || values.size < best.values.size) best = { key, values };
  }
  return best;
}
