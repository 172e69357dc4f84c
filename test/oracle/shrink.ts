/** Makes a script that shows a difference as small as it can: whole lines first, then what each line says. */
import { type Difference, type Run, run } from "./compare.ts";
import type { Script } from "./script.ts";

type Line = Script[number];

export interface Shrunk {
  readonly script: Script;
  readonly difference: Difference;
}

/** @param ask  runs a script; another one than `run` where a fault is planted */
export function shrink(script: Script, ask: (script: Script) => Run = run): Shrunk | undefined {
  let difference = ask(script).difference;
  if (!difference) return undefined;
  let best = script;
  const attempt = (candidate: Script): boolean => {
    const found = ask(candidate).difference;
    if (!found) return false;
    [best, difference] = [candidate, found];
    return true;
  };
  for (let before: Script | undefined; before !== best; ) {
    before = best;
    for (let length = best.length >> 1; length >= 1; length >>= 1) {
      for (let at = best.length - length; at >= 0; at -= length) attempt(best.toSpliced(at, length));
    }
    for (let at = 0; at < best.length; at++) {
      while (simpler(best[at] as Line).some((line) => attempt(best.with(at, line)))) {}
    }
  }
  return { script: best, difference };
}

/** The line with one thing less. */
function simpler(line: Line): Line[] {
  const found: Line[] = [];
  if ("claims" in line && line.claims.length > 1) {
    for (const at of line.claims.keys()) found.push({ ...line, claims: line.claims.toSpliced(at, 1) });
  }
  if (line.verb === "hold" && line.nodes.length > 1) {
    for (const at of line.nodes.keys()) found.push({ ...line, nodes: line.nodes.toSpliced(at, 1) });
  }
  if (line.verb === "node") {
    for (const key of Object.keys(line.labels)) {
      const { [key]: value, ...labels } = line.labels;
      if (value !== line.name) found.push({ ...line, labels });
    }
  }
  if (line.verb === "pv" || line.verb === "pvc") {
    const { beta, ...rest } = line;
    if (beta !== undefined) found.push({ ...rest, class: beta } as Line);
    if (line.attributes !== "") found.push({ ...line, attributes: "" });
    if (line.block) found.push({ ...line, block: false });
    if (line.deleting) found.push({ ...line, deleting: false });
    if (line.modes.join() !== "RWO") found.push({ ...line, modes: ["RWO"] });
  }
  if (line.verb === "pv") {
    if (Object.keys(line.labels).length > 0) found.push({ ...line, labels: {} });
    if (line.phase !== "Available") found.push({ ...line, phase: "Available" });
    const { madeBy, ...handMade } = line;
    if (madeBy !== undefined) found.push(handMade);
    const { terms, ...everywhere } = line;
    if (terms !== undefined) found.push(everywhere);
    if (terms && terms.length > 1) for (const term of terms) found.push({ ...line, terms: [term] });
  }
  if (line.verb === "class" && line.topologies.length > 0) found.push({ ...line, topologies: [] });
  if (line.verb === "csinode" && line.drivers.length > 1) found.push({ ...line, drivers: line.drivers.slice(0, 1) });
  return found;
}
