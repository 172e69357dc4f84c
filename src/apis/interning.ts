/**
 * One copy of what many objects repeat: class names, label keys and values, whole selectors. A large cluster's records stay small,
 * and equal selectors share what is computed from them. Bounded: when full it starts over, which costs memory, never truth.
 */
export class Interning {
  readonly #texts = new Map<string, string>();
  readonly #values = new Map<string, unknown>();
  readonly #entriesMax: number;

  constructor(entriesMax = 200_000) {
    this.#entriesMax = entriesMax;
  }

  text<T extends string>(value: T): T {
    const known = this.#texts.get(value);
    if (known !== undefined) return known as T;
    if (this.#texts.size >= this.#entriesMax) this.#texts.clear();
    this.#texts.set(value, value);
    return value;
  }

  /** The value made under `identity` before, or made now. The same identity must always mean an equal value. */
  value<T>(identity: string, make: () => T): T {
    const known = this.#values.get(identity);
    if (known !== undefined) return known as T;
    if (this.#values.size >= this.#entriesMax) this.#values.clear();
    const made = make();
    this.#values.set(identity, made);
    return made;
  }
}
