/** What real kube-scheduler makes of the files that are generated, and of each that `berth check-config` finds a mistake in. */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { deployments } from "../../src/scheduler-config/deployments.ts";
import { mistakeOf } from "../../src/scheduler-config/findings.ts";
import { schedulerConfigYaml } from "../../src/scheduler-config/generate.ts";
import { cases, optionsOf, rightFiles, tls } from "../scheduler-config/cases.ts";
import { Authority, writePair } from "../support/certificates.ts";
import type { Facts } from "./control-plane.ts";
import { onPlane } from "./on-plane.ts";

/** With certificates and a kubeconfig that are there, in the place of those that the file names. */
function settled(text: string, { kubeconfig }: Facts, folder: string): string {
  return text
    .replaceAll(tls.caFile, join(folder, "ca.crt"))
    .replaceAll(tls.certFile, join(folder, "tls.crt"))
    .replaceAll(tls.keyFile, join(folder, "tls.key"))
    .replaceAll("/etc/kubernetes/scheduler.conf", kubeconfig);
}

async function prepare({ folder }: Facts): Promise<string> {
  const made = join(folder, "scheduler-config");
  mkdirSync(made, { recursive: true });
  const authority = await Authority.make();
  writePair(made, await authority.issue({ name: "system:kube-scheduler" }), authority.cert);
  return made;
}

interface Loaded {
  readonly starts: boolean;
  /** The last that it said. */
  readonly said: string;
}

/** Has it load the file, make its plugins and extenders of it, and end. */
function load({ programs }: Facts, path: string): Promise<Loaded> {
  const [program, ...first] = programs["kube-scheduler"];
  const args = [...first, `--config=${path}`, "--secure-port=0", `--write-config-to=${path}.out`];
  return new Promise((resolve) => {
    execFile(program, args, { timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ starts: error === null, said: `${stdout}${stderr}`.trim().split("\n").slice(-3).join("\n") });
    });
  });
}

/** A second scheduler has the kubeconfig of its Pod, where there is a Pod. */
function withKubeconfig(text: string, kubeconfig: string): string {
  const connection = JSON.stringify({ kubeconfig });
  if (text.includes("clientConnection")) return text;
  if (text.startsWith("{")) return text.replace("{", `{"clientConnection": ${connection},`);
  return text.replace(/^kind: KubeSchedulerConfiguration$/m, `$&\nclientConnection: ${connection}`);
}

interface Shown {
  readonly name: string;
  readonly text: string;
}

async function loadAll<T extends Shown>(facts: Facts, all: readonly T[]): Promise<(Loaded & { shown: T })[]> {
  const folder = await prepare(facts);
  const found: (Loaded & { shown: T })[] = [];
  for (const [index, shown] of all.entries()) {
    const path = join(folder, `${index}.yaml`);
    writeFileSync(path, withKubeconfig(settled(shown.text, facts, folder), facts.kubeconfig));
    found.push({ shown, ...(await load(facts, path)) });
  }
  return found;
}

onPlane(
  "kube-scheduler starts with each generated file, and with each that is unusual and right",
  {},
  async ({ facts }) => {
    const generated = deployments.map((mode) => ({ name: mode as string, text: schedulerConfigYaml(optionsOf(mode)) }));
    const loaded = await loadAll<Shown>(facts, [...generated, ...rightFiles]);
    expect(loaded.filter(({ starts }) => !starts).map(({ shown, said }) => ({ name: shown.name, said }))).toEqual([]);
  },
);

onPlane(
  "kube-scheduler starts with a mistake, or does not, as the table of them says",
  { timeout: 240_000 },
  async ({ facts }) => {
    const loaded = await loadAll(facts, cases);
    const isTold = ({ starts, shown }: (typeof loaded)[number]) => starts === (mistakeOf(shown.id).refused !== true);
    const untold = loaded.filter((one) => !isTold(one));
    expect(untold.map(({ shown: { id, name }, starts, said }) => ({ id, name, starts, said }))).toEqual([]);
    expect(new Set(loaded.map(({ starts }) => starts))).toEqual(new Set([true, false]));
  },
);
