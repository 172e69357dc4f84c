/**
 * Answers to questions that are written as whole numbers, each in the place that its question's hash gives it: what is put there
 * later takes the place of what was there before.
 */
interface Answer {
  readonly question: Int32Array;
  readonly answer: Int32Array;
}

const placesMax = 256;

export class Answers {
  readonly #places: (Answer | undefined)[] = new Array<Answer | undefined>(placesMax).fill(undefined);

  /** @param length  of the question; the words after it are nobody's */
  find(words: Int32Array, length: number): Int32Array | undefined {
    const known = this.#places[placeOf(words, length)];
    return known?.question.length === length && begins(words, known.question) ? known.answer : undefined;
  }

  keep(words: Int32Array, length: number, answer: Int32Array): void {
    this.#places[placeOf(words, length)] = { question: words.slice(0, length), answer };
  }
}

/** FNV-1a over words, its high bits folded into the low ones. @see draft-eastlake-fnv */
function placeOf(words: Int32Array, length: number): number {
  let hash = -2128831035;
  for (let at = 0; at < length; at++) hash = Math.imul(hash ^ (words[at] ?? 0), 16777619);
  return (hash ^ (hash >>> 15)) & (placesMax - 1);
}

function begins(words: Int32Array, start: Int32Array): boolean {
  for (let at = 0; at < start.length; at++) if (words[at] !== start[at]) return false;
  return true;
}
