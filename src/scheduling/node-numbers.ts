/**
 * Nodes under small numbers, so that decisions read flat arrays. A call's names become numbers in one pass.
 *
 * Lists of names mostly come in one order, call after call. So each node remembers who followed it in the list before: that
 * name is compared first, and only another one is looked up by its hash.
 */
import type { NodeName } from "./names.ts";

/** A node's number. Used again after the node is gone: never kept across a change of state. */
export type NodeId = number;

/** The nodes that a call asks about, each once, in the order of their names' first mention. */
export interface Asked {
  readonly names: readonly NodeName[];
  /** Per name its node's number, -1 where the node is unknown; the array is used again for the next call. */
  readonly ids: Int32Array;
}

export class NodeNumbers<Entry extends { readonly id: NodeId }> {
  readonly #byName: ReadonlyMap<NodeName, Entry>;
  readonly #names: (NodeName | undefined)[] = [];
  readonly #entries: (Entry | undefined)[] = [];
  readonly #unused: NodeId[] = [];
  /** By number plus one, who followed in the last list; place 0 is for who came first. */
  #next = new Int32Array(64);
  /** The call in which each node was last asked about. A float64 counts calls for ever. */
  #askedIn = new Float64Array(64);
  #call = 0;
  #ids = new Int32Array(64);

  constructor(byName: ReadonlyMap<NodeName, Entry>) {
    this.#byName = byName;
  }

  add(name: NodeName, make: (id: NodeId) => Entry): Entry {
    const id = this.#unused.pop() ?? this.#names.length;
    const entry = make(id);
    this.#names[id] = name;
    this.#entries[id] = entry;
    if (id + 1 >= this.#next.length) this.#grow();
    return entry;
  }

  delete(id: NodeId): void {
    this.#names[id] = undefined;
    this.#entries[id] = undefined;
    this.#unused.push(id);
  }

  /** The node under a number that is in use. */
  at(id: NodeId): Entry {
    const entry = this.#entries[id];
    if (entry === undefined) throw new Error(`no node under number ${id}`);
    return entry;
  }

  ask(names: readonly NodeName[]): Asked {
    if (this.#ids.length < names.length) this.#ids = new Int32Array(2 * names.length);
    const ids = this.#ids;
    let kept: NodeName[] | undefined;
    let count = 0;
    let unknown: Set<NodeName> | undefined;
    let place = 0;
    this.#call++;
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as NodeName;
      const guess = this.#next[place] ?? 0;
      const id = this.#names[guess] === name ? guess : (this.#byName.get(name)?.id ?? -1);
      let isRepeated: boolean;
      if (id >= 0) {
        isRepeated = this.#askedIn[id] === this.#call;
        this.#askedIn[id] = this.#call;
        this.#next[place] = id;
        place = id + 1;
      } else {
        isRepeated = unknown?.has(name) ?? false;
        unknown ??= new Set();
        unknown.add(name);
      }
      if (isRepeated) kept ??= names.slice(0, index);
      else {
        ids[count++] = id;
        kept?.push(name);
      }
    }
    return { names: kept ?? names, ids };
  }

  /** What the list before left behind is not kept: the next one writes it anew. */
  #grow(): void {
    const length = this.#next.length * 2;
    this.#next = new Int32Array(length);
    this.#askedIn = new Float64Array(length);
  }
}
