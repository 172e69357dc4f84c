/** A bind as a trace: one span for the run, which may outlive the call that began it, one for each phase, and one for each write. */
import type { Span } from "../runtime/tracing.ts";
import type { BindEnding } from "./endings.ts";

export type Phase = "queued" | "checking" | "writing" | "waiting" | "binding" | "ending";

export class RunTrace {
  readonly #run: Span | undefined;
  #phase: Phase = "queued";
  #span: Span | undefined;

  /** @param call  of the call that begins the run */
  constructor(call: Span | undefined) {
    this.#run = call?.child("bind run");
    this.#span = this.#run?.child(this.#phase);
  }

  get phase(): Phase {
    return this.#phase;
  }

  enter(phase: Phase): void {
    this.#phase = phase;
    this.#span?.end();
    this.#span = this.#run?.child(phase);
  }

  /** A piece of the phase. */
  child(name: string): Span | undefined {
    return this.#span?.child(name);
  }

  close(ending: BindEnding, error: string): void {
    this.#span?.end();
    this.#run?.set({ ending });
    if (ending !== "bound") this.#run?.fail(error);
    this.#run?.end();
  }
}
