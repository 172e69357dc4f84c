/** One case: a real request and what is done to it, drawn from two numbers. It can be told, replayed, and made smaller. */
import { Random } from "../oracle/random.ts";
import { byteMutators, contentTypes, methods, mutators, pathMutators } from "./mutators.ts";
import type { Request } from "./reader.ts";
import type { Seed } from "./seeds.ts";
import { type Splice, spliced } from "./spots.ts";

export interface Step {
  readonly name: string;
  readonly splice?: Splice;
  readonly bend?: (body: Buffer) => Buffer;
  /** Of the request around the body. */
  readonly change?: Partial<Pick<Request, "method" | "path" | "contentType">>;
}

export interface Case {
  readonly seed: Seed;
  readonly steps: readonly Step[];
}

const nothing = Buffer.alloc(0);

export class Cases {
  readonly #seeds: readonly Seed[];
  readonly #bounds: readonly number[];
  readonly #number: number;

  /** @param number  the seed of the run */
  constructor(seeds: readonly Seed[], number: number) {
    let sum = 0;
    this.#seeds = seeds;
    this.#bounds = seeds.map(({ weight }) => (sum += weight));
    this.#number = number;
  }

  /** The nth case, whatever came before it. */
  draw(nth: number): Case {
    const random = new Random(Math.imul(this.#number, 0x9e3779b1) ^ Math.imul(nth, 0x85ebca6b));
    const total = this.#bounds.at(-1) ?? 0;
    const at = (random.int(0, 1_000_000) / 1_000_001) * total;
    const seed = this.#seeds[this.#bounds.findIndex((bound) => at < bound)] ?? random.pick(this.#seeds);
    return { seed, steps: stepsFor(seed, random) };
  }
}

export function requestOf({ seed, steps }: Case): Request {
  const splices = steps.flatMap(({ splice }) => splice ?? []);
  const text = seed.body ? spliced(seed.body.text, splices) : undefined;
  let body: Buffer = text === undefined ? nothing : Buffer.from(text);
  let request: Omit<Request, "body"> = {
    face: seed.face,
    method: seed.method,
    path: seed.path,
    contentType: seed.body ? "application/json" : undefined,
  };
  for (const { bend, change } of steps) {
    if (bend) body = bend(body);
    if (change) request = { ...request, ...change };
  }
  return { ...request, body };
}

const shownMax = 2_000;

export function tell(one: Case): string {
  const { method, path, contentType, body, face } = requestOf(one);
  const steps = one.steps.map(({ name }) => name).join(", ") || "unchanged";
  const shown = JSON.stringify(body.subarray(0, shownMax).toString());
  const rest = body.length > shownMax ? ` and ${body.length - shownMax} bytes more` : "";
  return [
    `  ${one.seed.name}: ${steps}`,
    `  ${face} ${method} ${JSON.stringify(path.slice(0, 300))} content-type ${JSON.stringify(contentType)}, ${body.length} bytes`,
    `  ${shown}${rest}`,
  ].join("\n");
}

/** The same failure with fewer steps. */
export async function shrunk(one: Case, fails: (smaller: Case) => Promise<boolean>): Promise<Case> {
  let best = one;
  for (let index = 0; index < best.steps.length; ) {
    const smaller = { ...best, steps: best.steps.filter((_, at) => at !== index) };
    if (await fails(smaller)) best = smaller;
    else index++;
  }
  return best;
}

function stepsFor(seed: Seed, random: Random): Step[] {
  if (random.once(30)) return [];
  const steps: Step[] = [];
  if (seed.body && !random.once(12)) {
    const count = random.pick([1, 1, 1, 2, 2, 3]);
    for (let step = 0; step < count; step++) steps.push(...spliceOf(seed.body, random));
  }
  if (seed.body && random.once(12)) {
    const { name, bend } = random.pick(byteMutators);
    const number = random.int(0, 2 ** 30);
    steps.push({ name, bend: (body) => bend(new Random(number), body) });
  }
  if (random.once(seed.body ? 25 : 2))
    steps.push({ name: "another path", change: { path: random.pick(pathMutators)(random, seed.path) } });
  if (random.once(25)) steps.push({ name: "another method", change: { method: random.pick(methods) } });
  if (random.once(25)) steps.push({ name: "another content type", change: { contentType: random.pick(contentTypes) } });
  return steps;
}

function spliceOf(body: NonNullable<Seed["body"]>, random: Random): Step[] {
  const { name, splice } = random.pick(mutators);
  // Lists of names are long; what stands around them is what matters.
  const shallow = random.once(2) ? body.spots.filter(({ path }) => !/\.\d+$|\..*\..*\./.test(path)) : body.spots;
  const made = splice(random, body, random.pick(shallow));
  return made ? [{ name, splice: made }] : [];
}
