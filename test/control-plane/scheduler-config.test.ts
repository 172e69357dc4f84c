/** What real kube-scheduler makes of the files that are generated, and of each that `berth check-config` finds a mistake in. */
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { stringify } from "yaml";
import { deployments } from "../../src/scheduler-config/deployments.ts";
import { mistakeOf } from "../../src/scheduler-config/findings.ts";
import { schedulerConfigYaml } from "../../src/scheduler-config/generate.ts";
import { cases, optionsOf, rightFiles, tls } from "../scheduler-config/cases.ts";
import type { Facts } from "./control-plane.ts";
import { onPlane } from "./on-plane.ts";

/** With certificates and a kubeconfig that are there, in the place of those that the file names. */
function settled(text: string, { kubeconfig }: Facts, folder: string): string {
  return text
    .replaceAll(tls.caFile, join(folder, "tls.crt"))
    .replaceAll(tls.certFile, join(folder, "tls.crt"))
    .replaceAll(tls.keyFile, join(folder, "tls.key"))
    .replaceAll("/etc/kubernetes/scheduler.conf", kubeconfig);
}

function prepare({ folder }: Facts): string {
  const made = join(folder, "scheduler-config");
  mkdirSync(made, { recursive: true });
  const files = ["-keyout", join(made, "tls.key"), "-out", join(made, "tls.crt")];
  const subject = ["-subj", "/CN=berth", "-days", "1", "-nodes"];
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", ...subject, ...files], { stdio: "ignore" });
  return made;
}

interface Loaded {
  readonly starts: boolean;
  /** The last thing that it said. */
  readonly said: string;
}

/** Has it load the file, make its plugins and extenders of it, and end. */
function load({ programs, kubeconfig }: Facts, folder: string, text: string, name: string): Promise<Loaded> {
  const path = join(folder, `${name}.yaml`);
  writeFileSync(path, text);
  const [program, ...first] = programs["kube-scheduler"];
  const as = [`--authentication-kubeconfig=${kubeconfig}`, `--authorization-kubeconfig=${kubeconfig}`];
  const out = ["--secure-port=0", `--write-config-to=${join(folder, `${name}.out`)}`];
  // Where the file names no kubeconfig, the one of its Pod is looked for, and --master stands in.
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  return new Promise((resolve) => {
    execFile(
      program,
      [...first, `--config=${path}`, ...as, ...out],
      { env, timeout: 30_000 },
      (error, stdout, stderr) => {
        resolve({ starts: error === null, said: `${stdout}${stderr}`.trim().split("\n").slice(-3).join("\n") });
      },
    );
  });
}

/** kube-scheduler needs one to begin at all, and a second one takes that of its Pod. */
function withKubeconfig(text: string, kubeconfig: string): string {
  if (text.includes("clientConnection") || !/^apiVersion: kubescheduler/m.test(text)) return text;
  return text.replace(/^(apiVersion: .*)$/m, `$1\n${stringify({ clientConnection: { kubeconfig } }).trimEnd()}`);
}

onPlane(
  "kube-scheduler starts with each generated file, and with each that is unusual and right",
  {},
  async ({ facts }) => {
    const folder = prepare(facts);
    const generated = deployments.map((mode) => ({ name: mode as string, text: schedulerConfigYaml(optionsOf(mode)) }));
    for (const [index, { name, text }] of [...generated, ...rightFiles].entries()) {
      const file = withKubeconfig(settled(text, facts, folder), facts.kubeconfig);
      const { starts, said } = await load(facts, folder, file, `right-${index}`);
      expect({ name, starts, said: starts ? "" : said }).toEqual({ name, starts: true, said: "" });
    }
  },
);

onPlane(
  "kube-scheduler starts with a mistake, or does not, as the table of them says",
  { timeout: 300_000 },
  async ({ facts }) => {
    const folder = prepare(facts);
    const wrong: unknown[] = [];
    for (const [index, { id, name, text }] of cases.entries()) {
      const file = withKubeconfig(settled(text, facts, folder), facts.kubeconfig);
      const { starts, said } = await load(facts, folder, file, `wrong-${index}`);
      const isTold = starts === (mistakeOf(id).refused !== true);
      if (!isTold) wrong.push({ id, name, starts, said });
    }
    expect(wrong).toEqual([]);
  },
);
