/** Runs a script through the core and the oracle, and tells where they first differ. */
import { isDeepStrictEqual } from "node:util";
import { Core } from "./core.ts";
import { type Answer, Naive } from "./naive.ts";
import { UnknownPool } from "./naive-cluster.ts";
import { type AssumeLine, type FilterLine, type HoldLine, type Line, render, type Script } from "./script.ts";

export interface Difference {
  /** The case up to the line that shows it, with the oracle's answers. */
  readonly text: string;
  readonly want: string;
  readonly got: string;
}

export interface Run {
  readonly answers: readonly Answer[];
  /** What answers took that no line of theirs shows. */
  readonly notes: ReadonlySet<string>;
  readonly difference?: Difference;
  /** The oracle could not tell which of several pools a demand is in: nothing after that is compared. */
  readonly abandoned?: true;
}

export function run(script: Script, core = new Core()): Run {
  const comparison = new Comparison(core);
  const { answers, notes } = comparison;
  try {
    for (const line of script) {
      const difference = comparison.next(line);
      if (difference) return { answers, notes, difference };
    }
  } catch (error) {
    if (error instanceof UnknownPool) return { answers, notes, abandoned: true };
    throw error;
  }
  return { answers, notes };
}

class Comparison {
  readonly answers: Answer[] = [];
  readonly notes: ReadonlySet<string>;
  readonly #core: Core;
  readonly #naive: Naive;
  readonly #text: string[] = [];

  constructor(core: Core) {
    this.#core = core;
    this.#naive = new Naive(core);
    this.notes = this.#naive.notes;
  }

  next(line: Script[number]): Difference | undefined {
    switch (line.verb) {
      case "filter":
        return this.#filter(line);
      case "hold":
      case "assume":
        // Promised is what a filter says of the Pod, so that comes first.
        return this.#filter(line) ?? this.#promise(line);
      case "written":
      case "finished":
        for (const one of this.#naive.expand(line)) {
          const difference = this.#change(one);
          if (difference) return difference;
        }
        return undefined;
      default:
        return this.#change(line);
    }
  }

  #filter({ pod, claims }: Pick<FilterLine, "pod" | "claims">): Difference | undefined {
    const got = guarded(() => this.#core.filter({ pod, claims }));
    const want = guarded(() => this.#naive.filter({ pod, claims }));
    this.#text.push(render({ verb: "filter", pod, claims }), "----");
    if (typeof want === "string") return this.#difference(want, got);
    this.#text.push(...(want.pod === undefined ? want.nodes.map(({ line }) => line) : [want.pod]), "");
    if (!isSame(got, want)) return this.#difference(want, got);
    this.answers.push(want);
    return undefined;
  }

  /** On those of the nodes where there is a plan. */
  #promise(line: HoldLine | AssumeLine): Difference | undefined {
    const { nodes } = this.answers.at(-1) ?? { nodes: [] };
    const fitting = nodes.filter(({ fits }) => fits);
    if (line.verb === "hold") {
      const held = [...new Set(line.nodes)].filter((name) => fitting.some(({ node }) => node === name));
      return held.length === 0 ? undefined : this.#change({ ...line, nodes: held });
    }
    const plan = fitting.find(({ node }) => node === line.node)?.line.split("  ")[2];
    if (plan === undefined) return undefined;
    const difference = this.#change(line);
    this.#text.push("----", `assumed  ${plan}`, "");
    return difference;
  }

  #change(line: Exclude<Line, FilterLine>): Difference | undefined {
    this.#text.push(render(line));
    // Of a promise the oracle asks the core which pools it would choose; of anything else, which it chose.
    const inOrder =
      line.verb === "hold" || line.verb === "assume" ? [this.#naive, this.#core] : [this.#core, this.#naive];
    for (const one of inOrder) {
      const problem = guarded(() => one.apply(line));
      if (problem !== undefined) return this.#difference("no fault", problem);
    }
    return undefined;
  }

  #difference(want: Answer | string, got: Answer | string): Difference {
    return { text: this.#text.join("\n"), want: show(want), got: show(got) };
  }
}

/** Bytes by which a sum of doubles beyond 2^53 may be out; all other sizes are many times larger. */
const roundingBytes = 64;

function isSame(got: Answer | string, want: Answer): boolean {
  if (typeof got === "string" || got.nodes.length !== want.nodes.length) return false;
  const nodes = got.nodes.map((node, index) => {
    const surplus = want.nodes[index]?.surplus ?? 0;
    return Math.abs(node.surplus - surplus) <= roundingBytes ? { ...node, surplus } : node;
  });
  return isDeepStrictEqual({ ...got, nodes }, want);
}

function guarded<T>(act: () => T): T | string {
  try {
    return act();
  } catch (error) {
    if (error instanceof UnknownPool) throw error;
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}

function show(answer: Answer | string): string {
  return typeof answer === "string" ? answer : JSON.stringify(answer, undefined, 1);
}
