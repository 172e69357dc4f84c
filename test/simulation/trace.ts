/** What happened, in order: one line a happening, and a number that two runs share only where they went the same way. */
import type { Clock } from "./clock.ts";
import { hashOf } from "./weather.ts";

export type Teller = "net" | "op" | "berth" | "sched" | "write" | "world";

export class Trace {
  readonly #clock: Clock;
  readonly #keeps: boolean;
  readonly lines: string[] = [];
  #hash = 0x811c9dc5;

  /** @param keeps  whether the lines are kept, or only their number */
  constructor(clock: Clock, keeps: boolean) {
    this.#clock = clock;
    this.#keeps = keeps;
  }

  get hash(): string {
    return this.#hash.toString(16).padStart(8, "0");
  }

  add(teller: Teller, tell: () => string): void {
    const line = `${this.#clock.now.toFixed(1).padStart(10)}  ${teller.padEnd(5)}  ${tell()}`;
    this.#hash = hashOf(line, this.#hash);
    if (this.#keeps) this.lines.push(line);
  }
}
