/**
 * Faults on a control plane of this file's own while Pods arrive in bursts, each in a small size: `npm run test:chaos` has them
 * whole. Every Pod must get its node and its volumes in the end, and the auditor must find nothing half-done.
 */
import { randomInt } from "node:crypto";
import { afterAll, expect } from "vitest";
import { type Fault, faultsOf, small } from "./chaos/faults.ts";
import { type Field, startField } from "./chaos/field.ts";
import { runFault } from "./chaos/run.ts";
import type { Facts } from "./control-plane.ts";
import { onPlane } from "./on-plane.ts";

const size = { pods: 24, nodes: 3 };
let running: { readonly field: Field; readonly seed: number; readonly notes: string[] } | undefined;

afterAll(() => running?.field.stop({ keep: false }));

/** One control plane for all of them, and another after a failure. */
async function start(facts: Facts): Promise<NonNullable<typeof running>> {
  const seed = randomInt(2 ** 31);
  const notes: string[] = [];
  return { field: await startField({ ...facts, size, seed, note: (line) => void notes.push(line) }), seed, notes };
}

async function underFault(facts: Facts, fault: Fault): Promise<void> {
  running ??= await start(facts);
  const { field, seed, notes } = running;
  notes.length = 0;
  try {
    const row = await runFault(field, fault);
    expect(row.findings).toEqual([]);
    expect(row.times).toBeGreaterThanOrEqual(fault.times);
    expect(row.placed).toBe(row.pods);
    // Otherwise they came when nothing was going on.
    if (fault.bursts > 1) expect(row.halfDone).toBeGreaterThan(0);
  } catch (error) {
    running = undefined;
    await field.stop({ keep: true });
    const what = [(error as Error).message, `seed ${seed}`, ...notes, `logs in ${field.plane.facts.folder}`];
    throw new Error(what.join("\n"));
  }
}

for (const fault of faultsOf(small)) {
  const name = `${fault.name} while Pods arrive: all are placed, and nothing is left half-done`;
  onPlane(name, { timeout: 180_000 }, ({ facts }) => underFault(facts, fault));
}
