/**
 * The general case of one class on one node: which volumes each claim may take, and the assignment over them.
 *
 * Nodes of one kind put the same question, so answers are kept.
 */
import { Answers } from "./answers.ts";
import { Assignment } from "./assignment.ts";
import type { Wishes } from "./bipartite.ts";
import { type Liberty, mayTake, offersWanted, type Want } from "./matching.ts";
import type { Reach } from "./reach.ts";
import { assumedBit, type VolumeId } from "./volume-table.ts";

export class Choices {
  /** A volume was left alone only because another Pod holds it. Cleared by whoever asks. */
  avoided = false;
  readonly #reach: Reach;
  readonly #wants: readonly Want[];
  readonly #assignment = new Assignment();
  /** By positions in what the node reaches, then by rank among those that anybody wishes for. */
  readonly #wishes: Wishes;
  readonly #positions: Int32Array;
  /** By position: its rank and one; 0 where nobody wishes for it. */
  #ranks = new Int32Array(16);
  readonly #question: Int32Array;
  readonly #answers = new Answers();

  /** @param wants  of one class, in name order */
  constructor(reach: Reach, wants: readonly Want[]) {
    const wishesMax = wants.length ** 2;
    this.#reach = reach;
    this.#wants = wants;
    this.#wishes = { starts: new Int32Array(wants.length + 1), to: new Int32Array(wishesMax) };
    this.#positions = new Int32Array(wishesMax);
    this.#question = new Int32Array(2 * wants.length + wishesMax);
  }

  /** Whether the claim has any wish in the assignment made last. */
  hasAny(claim: number): boolean {
    return (this.#wishes.starts[claim + 1] ?? 0) > (this.#wishes.starts[claim] ?? 0);
  }

  /** Whether a volume suits that is promised for good, and not one of these. */
  hasAssumed(claim: number, except: readonly VolumeId[]): boolean {
    const want = this.#wants[claim] as Want;
    for (let at = this.#reach.firstLargeEnough(want); at < this.#reach.length; at++) {
      const offer = this.#reach.offer(at);
      if ((offer & assumedBit) === 0 || !offersWanted(want, offer) || !this.#reach.hasLabels(want, at)) continue;
      if (!except.includes(this.#reach.volume(at))) return true;
    }
    return false;
  }

  /**
   * @param order      claims, the most important first
   * @param positions  filled in: per claim the position of its volume, or -1
   */
  assign(order: readonly number[], liberty: Liberty, positions: Int32Array): void {
    this.#wish(liberty);
    const volumeCount = this.#rank();
    const ranks = volumeCount === 0 ? undefined : this.#answer(order, volumeCount);
    for (let claim = 0; claim < positions.length; claim++) {
      positions[claim] = this.#positions[ranks?.[claim] ?? -1] ?? -1;
    }
  }

  /** The smallest that suit, as many as there are claims: one of these is always left. */
  #wish(liberty: Liberty): void {
    const { starts, to } = this.#wishes;
    const enough = this.#wants.length;
    let end = 0;
    for (let claim = 0; claim < enough; claim++) {
      const want = this.#wants[claim] as Want;
      const full = end + enough;
      let at = this.#reach.firstLargeEnough(want);
      while (end < full) {
        at = this.#next(want, at, liberty);
        if (at < 0) break;
        to[end++] = at++;
      }
      starts[claim + 1] = end;
    }
  }

  #next(want: Want, from: number, liberty: Liberty): number {
    for (let at = from; at < this.#reach.length; at++) {
      const offer = this.#reach.offer(at);
      if (!offersWanted(want, offer) || !this.#reach.hasLabels(want, at)) continue;
      if (liberty.except?.includes(this.#reach.volume(at))) continue;
      if (mayTake(liberty, offer)) return at;
      if ((offer & assumedBit) === 0) this.avoided = true;
    }
    return -1;
  }

  /** Turns positions into ranks, without gaps. @returns how many there are */
  #rank(): number {
    const { starts, to } = this.#wishes;
    const end = starts[this.#wants.length] ?? 0;
    if (this.#ranks.length < this.#reach.length) this.#ranks = new Int32Array(2 * this.#reach.length);
    const ranks = this.#ranks;
    let low = this.#reach.length;
    let high = -1;
    for (let wish = 0; wish < end; wish++) {
      const position = to[wish] ?? 0;
      ranks[position] = 1;
      if (position < low) low = position;
      if (position > high) high = position;
    }
    let count = 0;
    for (let position = low; position <= high; position++) {
      if (ranks[position] === 0) continue;
      this.#positions[count++] = position;
      ranks[position] = count;
    }
    for (let wish = 0; wish < end; wish++) to[wish] = (ranks[to[wish] ?? 0] ?? 0) - 1;
    for (let rank = 0; rank < count; rank++) ranks[this.#positions[rank] ?? 0] = 0;
    return count;
  }

  #answer(order: readonly number[], volumeCount: number): Int32Array {
    const length = this.#ask(order);
    const known = this.#answers.find(this.#question, length);
    if (known) return known;
    const ranks = this.#assignment.assign(this.#wishes, order, volumeCount);
    this.#answers.keep(this.#question, length, ranks);
    return ranks;
  }

  /** Writes the question down. @returns its length */
  #ask(order: readonly number[]): number {
    const { starts, to } = this.#wishes;
    const question = this.#question;
    const end = starts[order.length] ?? 0;
    let length = 0;
    for (let place = 0; place < order.length; place++) {
      question[length++] = order[place] ?? 0;
      question[length++] = starts[place + 1] ?? 0;
    }
    for (let wish = 0; wish < end; wish++) question[length++] = to[wish] ?? 0;
    return length;
  }
}
