import { nameLengthMax } from "./fields.ts";

export interface InterningOptions {
  readonly entriesMax?: number;
  /** Of all identities together: some may be as long as the API lets an object be. */
  readonly identitiesLengthMax?: number;
}

/**
 * One copy of what many objects repeat: class names, label keys and values, whole selectors. A large cluster's records stay small,
 * and equal selectors share what is computed from them. Bounded: when full it starts over, which costs memory, never truth. What is
 * longer than a name is nothing that many objects repeat; whoever may write a claim may write such texts without end.
 */
export class Interning {
  readonly #texts = new Map<string, string>();
  readonly #values = new Map<string, unknown>();
  readonly #entriesMax: number;
  readonly #identitiesLengthMax: number;
  #identitiesLength = 0;

  constructor({ entriesMax = 200_000, identitiesLengthMax = 32 << 20 }: InterningOptions = {}) {
    this.#entriesMax = entriesMax;
    this.#identitiesLengthMax = identitiesLengthMax;
  }

  text<T extends string>(value: T): T {
    if (value.length > nameLengthMax) return value;
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
    const made = make();
    if (made === undefined) return made;
    const isFull = this.#values.size >= this.#entriesMax;
    if (isFull || this.#identitiesLength + identity.length > this.#identitiesLengthMax) {
      this.#values.clear();
      this.#identitiesLength = 0;
    }
    this.#values.set(identity, made);
    this.#identitiesLength += identity.length;
    return made;
  }

  /** How much is kept, for tests: characters of all texts and identities. */
  get length(): number {
    let length = this.#identitiesLength;
    for (const text of this.#texts.keys()) length += text.length;
    return length;
  }
}
