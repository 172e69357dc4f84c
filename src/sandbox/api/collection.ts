/** All objects of one resource: what is there now, in the order of their keys, and how it came to be so. */
import { compareText } from "../../scheduling/names.ts";

/** One object at one resourceVersion. Kept as the bytes that every read and watch sends; parsed only when written to. */
export interface Version {
  /** "namespace/name", or the bare name of what has no namespace. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: number;
  readonly bytes: Uint8Array;
  /** Whether it has a deletionTimestamp. */
  readonly isDeleting: boolean;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** Values of the resource's selectable fields, in the order of its table row. */
  readonly fields: readonly string[];
}

export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  /** What the object is now; for DELETED what it last was, at the version of its deletion. */
  readonly version: Version;
  readonly previous: Version | undefined;
}

export interface Page {
  readonly versions: readonly Version[];
  /** Objects after the last of `versions` that a next page would look at. */
  readonly remaining: number;
}

const unchanged = Symbol("unchanged");

/**
 *     write ──▶ live (key → version)          what a read at "now" sees
 *         └───▶ log  [oldest … newest]        what watches follow, and what a read at an earlier version undoes
 *                     └── at most `historyMax`; a reader of anything older is told that it is too late (410)
 */
export class Collection {
  readonly #live = new Map<string, Version>();
  readonly #listeners = new Set<() => void>();
  readonly #historyMax: number;
  #keys: string[] = [];
  #addedKeys: string[] = [];
  readonly #removedKeys = new Set<string>();
  readonly #counts = new Map<string, number>();
  #log: Change[] = [];
  /** Sequence number of `#log[0]`: how many changes have been forgotten. */
  #forgotten = 0;
  /** The newest version forgotten: a reader must have seen it. */
  #forgottenVersion = 0;

  constructor(historyMax: number) {
    this.#historyMax = historyMax;
  }

  get(key: string): Version | undefined {
    return this.#live.get(key);
  }

  values(): Iterable<Version> {
    return this.#live.values();
  }

  /** How many objects are in that namespace. */
  countIn(namespace: string): number {
    return this.#counts.get(namespace) ?? 0;
  }

  apply(change: Change): void {
    const { key, namespace } = change.version;
    if (change.type !== "MODIFIED") {
      this.#counts.set(namespace, this.countIn(namespace) + (change.type === "ADDED" ? 1 : -1));
    }
    if (change.type === "DELETED") {
      this.#live.delete(key);
      this.#removedKeys.add(key);
    } else {
      if (!this.#live.has(key) && !this.#removedKeys.delete(key)) this.#addedKeys.push(key);
      this.#live.set(key, change.version);
    }
    this.#log.push(change);
    // In large steps, so that a full log does not copy itself at every write.
    if (this.#log.length > this.#historyMax + (this.#historyMax >> 2))
      this.#forget(this.#log.length - this.#historyMax);
    for (const listener of this.#listeners) listener();
  }

  /** Forgets all history, as a compaction would: whoever is not up to date must list again. */
  forgetHistory(): void {
    this.#forget(this.#log.length);
  }

  #forget(count: number): void {
    const last = this.#log[count - 1];
    if (!last) return;
    this.#forgottenVersion = last.version.resourceVersion;
    this.#forgotten += count;
    this.#log = this.#log.slice(count);
  }

  /** Calls `listener` at each change to come. Returns the function that ends this. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get endSequence(): number {
    return this.#forgotten + this.#log.length;
  }

  /** The change with that sequence number; `undefined` when it is forgotten or still to come. */
  changeAt(sequence: number): Change | undefined {
    return this.#log[sequence - this.#forgotten];
  }

  isForgotten(sequence: number): boolean {
    return sequence < this.#forgotten;
  }

  /** The first change after `resourceVersion`; `undefined` when some such change is forgotten. */
  sequenceAfter(resourceVersion: number): number | undefined {
    if (resourceVersion < this.#forgottenVersion) return undefined;
    let low = 0;
    let high = this.#log.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#log[middle]?.version.resourceVersion ?? 0) <= resourceVersion) low = middle + 1;
      else high = middle;
    }
    return this.#forgotten + low;
  }

  /**
   * Up to `limit` matching objects with keys in [prefix…] and after `after`, as they were at `resourceVersion`.
   *
   * @returns  `undefined` when that version is forgotten
   */
  page(o: {
    readonly prefix: string;
    readonly after: string;
    readonly resourceVersion: number;
    readonly limit: number;
    readonly matches: (version: Version) => boolean;
  }): Page | undefined {
    const since = this.sequenceAfter(o.resourceVersion);
    if (since === undefined) return undefined;
    const { then, gone } = this.#undone(since);
    const keys = gone.length === 0 ? this.#sortedKeys() : mergeSorted(this.#sortedKeys(), gone);
    const start = Math.max(firstAtLeast(keys, o.prefix), o.after === "" ? 0 : firstAtLeast(keys, `${o.after}\0`));
    const end = o.prefix === "" ? keys.length : firstAtLeast(keys, `${o.prefix.slice(0, -1)}0`);

    const versions: Version[] = [];
    let next = start;
    for (; next < end && versions.length < o.limit; next++) {
      const key = keys[next] ?? "";
      const before = then.size === 0 ? unchanged : then.has(key) ? then.get(key) : unchanged;
      const version = before === unchanged ? this.#live.get(key) : before;
      if (version && o.matches(version)) versions.push(version);
    }
    // Keys that have come since are in the way of the count: at this version they were not there.
    let later = 0;
    for (const [key, version] of then) {
      if (version === undefined && this.#live.has(key) && isBetween(keys, key, next, end)) later++;
    }
    return { versions, remaining: end - next - later };
  }

  /** What was different before the change `since`: the earlier versions by key, and the keys that are no longer there. */
  #undone(since: number): { then: Map<string, Version | undefined>; gone: string[] } {
    const then = new Map<string, Version | undefined>();
    for (let index = since - this.#forgotten; index < this.#log.length; index++) {
      const change = this.#log[index];
      if (change && !then.has(change.version.key)) then.set(change.version.key, change.previous);
    }
    const gone: string[] = [];
    for (const [key, version] of then) if (version && !this.#live.has(key)) gone.push(key);
    return { then, gone: gone.sort(compareText) };
  }

  /** Keys in byte order. Sorted on reading: a bulk load would pay for each insertion into a long array. */
  #sortedKeys(): readonly string[] {
    if (this.#removedKeys.size > 0) {
      // A key added and removed since the last reading is in both; the live map alone says what is there.
      this.#keys = this.#keys.filter((key) => !this.#removedKeys.has(key));
      this.#addedKeys = this.#addedKeys.filter((key) => !this.#removedKeys.has(key));
      this.#removedKeys.clear();
    }
    if (this.#addedKeys.length > 0) {
      this.#keys = mergeSorted(this.#keys, this.#addedKeys.sort(compareText));
      this.#addedKeys = [];
    }
    return this.#keys;
  }
}

function mergeSorted(a: readonly string[], b: readonly string[]): string[] {
  const last = a.at(-1);
  if (last === undefined || (b[0] !== undefined && last < b[0])) return [...a, ...b];
  const merged: string[] = [];
  let taken = 0;
  for (const key of a) {
    for (let other = b[taken]; other !== undefined && other < key; other = b[++taken]) merged.push(other);
    merged.push(key);
  }
  return merged.concat(b.slice(taken));
}

function isBetween(keys: readonly string[], key: string, start: number, end: number): boolean {
  const index = firstAtLeast(keys, key);
  return index >= start && index < end;
}

/** The index of the first key that is not before `bound`. */
function firstAtLeast(keys: readonly string[], bound: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] ?? "") < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
