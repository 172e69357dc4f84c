/**
 * `npm run cluster [-- -f FILE|DIR ...]`: a real control plane with Berth in it, until Ctrl-C. Stand-ins take the place of kubelets
 * and of the CSI drivers that the files declare.
 */
import { parseArgs } from "node:util";
import { readManifests } from "../../src/cli/manifests.ts";
import type { Raw } from "../support/make.ts";
import { startControlPlane } from "./control-plane.ts";
import { findPrograms } from "./programs.ts";
import { reach } from "./reach.ts";
import { realStage } from "./real-stage.ts";

const help = `Usage: npm run cluster [-- -f FILE|DIR]...

Starts Kubernetes' own control plane with Berth in it, applies the files, and runs until Ctrl-C. Needs Go, or KUBEBUILDER_ASSETS.
`;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { file: { type: "string", short: "f", multiple: true }, help: { type: "boolean", short: "h" } },
  });
  if (values.help) {
    process.stdout.write(help);
    return 0;
  }
  const manifests = readManifests(values.file ?? []);
  const found = await findPrograms(process.env, say);
  if (!found.ok) {
    say(found.why);
    return 2;
  }
  const interrupted = new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, resolve);
  });
  const plane = await startControlPlane(found);
  const { facts, processes } = plane;
  try {
    const { exchange } = reach(facts.server);
    const stage = realStage({ exchange, signal: async (name, signal) => processes.signal(name, signal) });
    for (const { object } of manifests) await stage.apply(object as Raw);
    say(
      `Kubernetes ${facts.version} on ${facts.server}; logs in ${facts.folder}; Berth looks out at ${facts.debugUrl}`,
    );
    say("Pods that name the scheduler berth-scheduler are Berth's. Ctrl-C ends it.");
    process.stdout.write(`export KUBECONFIG=${facts.kubeconfig}\n`);
    await interrupted;
    return 0;
  } finally {
    await plane.stop();
  }
}

process.exit(await main());
