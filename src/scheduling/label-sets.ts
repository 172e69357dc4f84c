/**
 * Sets of labels under small numbers. Volumes that carry the same labels share one, so that a selector is matched once for all of
 * them, and one claim's answers serve the next that asks the same.
 */
import { setNewest } from "./indexes.ts";
import { compareText } from "./names.ts";
import type { Labels } from "./objects.ts";
import { type LabelSelector, matchesLabels } from "./selectors.ts";

/** Used again after the last volume with these labels is gone. */
export type LabelSetId = number;

/** Selectors whose answers are kept, those used last: a byte for each set. */
const selectorsMax = 32;

export class LabelSets {
  readonly #byText = new Map<string, LabelSetId>();
  readonly #sets: (Labels | undefined)[] = [];
  readonly #uses: number[] = [];
  readonly #unused: LabelSetId[] = [];
  /** By the selector's identity; the one that was used last comes last. */
  readonly #matches = new Map<string, LabelMatches>();

  /** Counts one use. */
  use(labels: Labels): LabelSetId {
    const text = textOf(labels);
    const id = this.#byText.get(text) ?? this.#add(text, labels);
    this.#uses[id] = (this.#uses[id] ?? 0) + 1;
    return id;
  }

  release(id: LabelSetId): void {
    const left = (this.#uses[id] ?? 0) - 1;
    this.#uses[id] = left;
    if (left > 0) return;
    this.#byText.delete(textOf(this.at(id)));
    this.#sets[id] = undefined;
    this.#unused.push(id);
  }

  at(id: LabelSetId): Labels {
    const labels = this.#sets[id];
    if (labels === undefined) throw new Error(`no labels under number ${id}`);
    return labels;
  }

  /** For one decision: it must not outlive a change of state. */
  matchesOf(selector: LabelSelector): LabelMatches {
    const matches = this.#matches.get(selector.identity) ?? new LabelMatches(this, selector);
    setNewest(this.#matches, selector.identity, matches, selectorsMax);
    matches.grow(this.#sets.length);
    return matches;
  }

  #add(text: string, labels: Labels): LabelSetId {
    const id = this.#unused.pop() ?? this.#sets.length;
    this.#byText.set(text, id);
    this.#sets[id] = labels;
    this.#uses[id] = 0;
    for (const matches of this.#matches.values()) matches.forget(id);
    return id;
  }
}

const unknown = 0;
const yes = 1;
const no = 2;

/** Which sets a selector matches; each is looked at when it is first asked about. */
export class LabelMatches {
  readonly #sets: LabelSets;
  readonly #selector: LabelSelector;
  #known = new Uint8Array(0);

  constructor(sets: LabelSets, selector: LabelSelector) {
    this.#sets = sets;
    this.#selector = selector;
  }

  has(id: LabelSetId): boolean {
    const known = this.#known[id];
    if (known !== unknown) return known === yes;
    const matches = matchesLabels(this.#selector, this.#sets.at(id));
    this.#known[id] = matches ? yes : no;
    return matches;
  }

  grow(count: number): void {
    if (this.#known.length >= count) return;
    const known = new Uint8Array(2 * count);
    known.set(this.#known);
    this.#known = known;
  }

  forget(id: LabelSetId): void {
    this.#known[id] = unknown;
  }
}

function textOf(labels: Labels): string {
  return JSON.stringify([...labels].sort(([a], [b]) => compareText(a, b)));
}
