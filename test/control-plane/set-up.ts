/** Before the project "cluster": one control plane for all its tests. After it, whatever happened: nothing that was started here. */
import type { TestProject } from "vitest/node";
import { type ControlPlane, type Facts, startControlPlane } from "./control-plane.ts";
import { findPrograms } from "./programs.ts";

/** A control plane; or none that could be had here, for want of what it is built with; or one that should run and does not. */
export type Plane =
  | { readonly kind: "runs"; readonly facts: Facts }
  | { readonly kind: "missing"; readonly why: string }
  | { readonly kind: "broken"; readonly why: string };

declare module "vitest" {
  interface ProvidedContext {
    plane: Plane;
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const say = (line: string): void => void process.stderr.write(`cluster: ${line}\n`);
  const found = await findPrograms(process.env, say);
  if (!found.ok) {
    project.provide("plane", { kind: "missing", why: found.why });
    return async () => {};
  }
  let plane: ControlPlane;
  try {
    plane = await startControlPlane(found);
  } catch (error) {
    // The other projects' tests have nothing to do with it.
    project.provide("plane", { kind: "broken", why: (error as Error).message });
    return async () => {};
  }
  project.provide("plane", { kind: "runs", facts: plane.facts });
  return async () => {
    const keep = project.vitest.state.getCountOfFailedTests() > 0;
    await plane.stop({ keep });
    if (keep) say(`logs in ${plane.facts.folder}`);
  };
}
