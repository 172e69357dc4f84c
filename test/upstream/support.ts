/**
 * The 200 scenarios of VB §8 as tests, each under its number. A scenario counts when it passed: its objects, the verdict, the
 * exact wire text and the plan compared.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { AskedNodes } from "../../src/apis/extender.ts";
import { encodeFilterResult } from "../../src/apis/extender-replies.ts";
import { filterNodes, planNode } from "../../src/scheduling/filter.ts";
import type { Pod } from "../../src/scheduling/objects.ts";
import "../support/meta.ts";
import { describePlan, type World } from "../support/world.ts";
import { type ScenarioKind, scenariosTotal } from "./kinds.ts";

const registry = new Set<number>();

export function scenario(
  number: number,
  kind: ScenarioKind,
  name: string,
  run: () => void | Promise<void>,
  options: { readonly timeout?: number } = {},
): void {
  if (number < 1 || number > scenariosTotal || registry.has(number))
    throw new Error(`scenario ${number} twice, or none`);
  registry.add(number);
  const [id] = /^D\d+(?=[:,])/.exec(name) ?? [];
  if (id !== undefined) departures.add(id);
  test(`${number}: ${name}`, { ...options, meta: { upstream: { number, kind } } }, run);
}

const departures = new Set<string>();

/** One of docs/limits.md that no numbered scenario shows. */
export function departure(id: `D${number}`, name: string, run: () => void | Promise<void>): void {
  departures.add(id);
  test(`${id}: ${name}`, run);
}

export function missingDepartures(): string[] {
  const all = [...readFileSync("docs/limits.md", "utf8").matchAll(/^\| (D\d+) \|/gm)].map(([, id = ""]) => id);
  if (all.length < 18) throw new Error("docs/limits.md has lost departures");
  return all.filter((id) => !departures.has(id));
}

/** Numbers that no test here stands for. */
export function missingScenarios(): number[] {
  return Array.from({ length: scenariosTotal }, (_, index) => index + 1).filter((number) => !registry.has(number));
}

/** A departure: ours is as wanted, and is not upstream's, which stands beside it as VB §3 to §5 has it. */
export function expectDeparture<T>({ upstream, berth, want }: { upstream: T; berth: T | undefined; want: T }): void {
  expect(berth).toEqual(want);
  expect(berth).not.toEqual(upstream);
}

/** A node's whole answer: the plan as "claim=volume", "claim==bound volume" and "claim=+class", or the text on the wire. */
export type NodeAnswer = readonly string[] | string;

/**
 * One filter call as kube-scheduler sees it, and the plan behind each node that passes. Every node is in the reply once, in the
 * right place; filter and bind say the same.
 */
export function ask(world: World, pod: Pod, nodes = world.nodes()): Record<string, NodeAnswer> {
  const verdict = filterNodes(world.state, pod, nodes);
  if (verdict.kind === "fault") return { error: `${verdict.object.kind} ${verdict.object.key}: ${verdict.problem}` };
  const reply = readReply(nodes, (index) => {
    if (verdict.kind === "judged") return verdict.nodes.text(index);
    return verdict.kind === "refused" ? verdict.text : "";
  });
  const answers = nodes.map((node): [string, NodeAnswer] => {
    const text = reply.get(node);
    const planned = planNode(world.state, pod, node);
    if (planned.kind === "free") return [node, text ?? []];
    if (planned.kind === "judged" && planned.nodes.fits) {
      expect(text, `bind fits on ${node}`).toBeUndefined();
      return [node, describePlan(planned.nodes.plan)];
    }
    const again = planned.kind === "judged" && !planned.nodes.fits ? planned.nodes.text : undefined;
    expect(text, `filter and bind on ${node}`).toBe(planned.kind === "refused" ? planned.text : again);
    return [node, text ?? ""];
  });
  return Object.fromEntries(answers);
}

/** The answer of one node. */
export function askOn(world: World, pod: Pod, node: string): NodeAnswer {
  const answers = ask(
    world,
    pod,
    world.nodes().filter((name) => name === node),
  );
  return answers[node] ?? answers["error"] ?? `no node ${node}`;
}

/** Refusals as they stand in the encoded reply; a node that passed has none. */
function readReply(names: AskedNodes["names"], textOf: (index: number) => string): Map<string, string> {
  const reply = JSON.parse(String(encodeFilterResult({ form: "NodeNames", names }, textOf)));
  const { NodeNames: passed, FailedAndUnresolvableNodes: refused, ...rest } = reply;
  expect(rest).toEqual({ Nodes: null, FailedNodes: {}, Error: "" });
  expect([...passed, ...Object.keys(refused)].sort()).toEqual([...names].sort());
  return new Map(Object.entries(refused));
}

/** The texts of upstream's 1.36 that a node can be refused with, under VB §8's short names. */
export const texts = {
  bind: "node(s) didn't find available persistent volumes to bind",
  node: "node(s) didn't match PersistentVolume's node affinity",
  space: "node(s) did not have enough free storage",
  missing: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
  immediate: "pod has unbound immediate PersistentVolumeClaims",
} as const;
