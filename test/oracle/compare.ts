/** Runs a script through the core and the oracle, and tells where they first differ. */
import { isDeepStrictEqual } from "node:util";
import { Core } from "./core.ts";
import { type Answer, Naive } from "./naive.ts";
import { UnknownPool } from "./naive-cluster.ts";
import { type Line, render, type Script } from "./script.ts";

export interface Difference {
  /** The case up to the line that shows it, with the oracle's answers. */
  readonly text: string;
  readonly want: string;
  readonly got: string;
}

export interface Run {
  readonly answers: readonly Answer[];
  readonly notes: ReadonlySet<string>;
  readonly difference?: Difference;
  /** The oracle could not tell which of several pools a demand is in: nothing after that is compared. */
  readonly abandoned?: true;
}

export function run(script: Script, core = new Core()): Run {
  try {
    return compareAll(script, core);
  } catch (error) {
    if (error instanceof UnknownPool) return { answers: [], notes: new Set(), abandoned: true };
    throw error;
  }
}

function compareAll(script: Script, core: Core): Run {
  const naive = new Naive(core);
  const answers: Answer[] = [];
  const { notes } = naive;
  const text: string[] = [];
  for (const asked of script) {
    if ("claims" in asked) {
      const got = guarded(() => core.filter(asked));
      const want = guarded(() => naive.filter(asked));
      text.push(render({ verb: "filter", pod: asked.pod, claims: asked.claims }));
      if (typeof want === "string" || !isSame(got, want)) {
        return {
          answers,
          notes,
          difference: { text: [...text, ...underline(want)].join("\n"), want: show(want), got: show(got) },
        };
      }
      answers.push(want);
      text.push(...underline(want), "");
      const line = possible(asked, want);
      if (!line) continue;
      // The oracle asks the core which pools it chose, so it goes first.
      const problem = guarded(() => naive.apply(line)) ?? guarded(() => core.apply(line));
      text.push(render(line), ...(line.verb === "assume" ? ["----", ""] : []));
      if (problem !== undefined)
        return { answers, notes, difference: { text: text.join("\n"), want: "a promise", got: problem } };
      continue;
    }
    text.push(render(asked));
    const problem = guarded(() => core.apply(asked)) ?? guarded(() => naive.apply(asked));
    if (problem !== undefined)
      return { answers, notes, difference: { text: text.join("\n"), want: "no fault", got: problem } };
  }
  return { answers, notes };
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

/** A promise on the nodes where there is a plan; undefined where there is none, or the line is a filter. */
function possible(line: Extract<Line, { claims: readonly string[] }>, { nodes }: Answer) {
  const fitting = nodes.filter(({ fits }) => fits).map(({ node }) => node);
  if (line.verb === "filter") return undefined;
  if (line.verb === "assume") return fitting.includes(line.node) ? line : undefined;
  const held = line.nodes.filter((node, index) => fitting.includes(node) && line.nodes.indexOf(node) === index);
  return held.length > 0 ? { ...line, nodes: held } : undefined;
}

function guarded<T>(act: () => T): T | string {
  try {
    return act();
  } catch (error) {
    if (error instanceof UnknownPool) throw error;
    return error instanceof Error ? `${error.message}\n${error.stack}` : String(error);
  }
}

function underline(answer: Answer | string): string[] {
  if (typeof answer === "string") return ["----", answer];
  return ["----", ...(answer.pod === undefined ? answer.nodes.map(({ line }) => line) : [answer.pod])];
}

function show(answer: Answer | string): string {
  return typeof answer === "string" ? answer : JSON.stringify(answer, undefined, 1);
}
