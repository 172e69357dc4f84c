/** What happened, in order: one line a happening, and a number that two runs share only where they went the same way. */
import type { Clock } from "./clock.ts";
import { hashOf } from "./weather.ts";

export type Teller = "net" | "op" | "berth" | "sched" | "write" | "world";

/** What is kept of what is told: every line, a number that stands for all, or nothing, which is quickest. */
export type TraceForm = "lines" | "hash" | "nothing";

export class Trace {
  readonly #clock: Clock;
  readonly #form: TraceForm;
  readonly lines: string[] = [];
  #hash = 0x811c9dc5;

  constructor(clock: Clock, form: TraceForm) {
    this.#clock = clock;
    this.#form = form;
  }

  get hash(): string {
    return this.#hash.toString(16).padStart(8, "0");
  }

  add(teller: Teller, tell: () => string): void {
    if (this.#form === "nothing") return;
    const line = `${this.#clock.now.toFixed(1).padStart(10)}  ${teller.padEnd(5)}  ${tell()}`;
    this.#hash = hashOf(line, this.#hash);
    if (this.#form === "lines") this.lines.push(line);
  }
}
