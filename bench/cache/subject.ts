/** Berth's process: `berth serve` as it is shipped, with a probe beside it. What it says of itself is read off its log and metrics. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import { kubeconfigFor } from "../../src/sandbox/kubeconfig.ts";
import { Child } from "./children.ts";
import type { Block, Collection, Memory } from "./probe.ts";

const main = new URL("../../src/main.ts", import.meta.url).pathname;
const probe = new URL("probe.ts", import.meta.url).href;
const lookMs = 20;
const patienceMs = 240_000;

export interface Listed {
  readonly kind: string;
  readonly objects: number;
  /** Since the process began. */
  readonly afterMs: number;
}

export interface Reading extends Memory {
  readonly blocks: readonly Block[];
  readonly collections: readonly Collection[];
}

export class Subject {
  readonly #folder = mkdtempSync(join(tmpdir(), "berth-bench-"));
  readonly #child: Child;
  readonly #begun = performance.now();
  readonly #listed: Listed[] = [];
  readonly #troubles: string[] = [];
  readonly #ports = new Map<string, number>();
  #startingAt = 0;

  /** @param nodeArgs  for a profile, e.g. "--cpu-prof" */
  constructor(apiPort: number, nodeArgs: readonly string[]) {
    const [kubeconfig, config] = [join(this.#folder, "kubeconfig"), join(this.#folder, "config.yaml")];
    writeFileSync(kubeconfig, kubeconfigFor(`http://127.0.0.1:${apiPort}`));
    const lines = ["apiVersion: berth.dev/v1alpha1", "kind: BerthConfiguration"];
    const listeners = ['listen: "127.0.0.1:0"', 'debugListen: "127.0.0.1:0"'];
    writeFileSync(config, [...lines, ...listeners, 'leaderElection: {mode: "off"}', "logLevel: info", ""].join("\n"));
    this.#child = new Child({
      file: main,
      args: ["serve", "--config", config, "--kubeconfig", kubeconfig],
      nodeArgs: [...nodeArgs, "--import", probe],
      line: (line) => this.#heard(line),
    });
  }

  get listed(): readonly Listed[] {
    return this.#listed;
  }

  /** What it warned of. */
  get troubles(): readonly string[] {
    return this.#troubles;
  }

  /** Of the extender. */
  get port(): number {
    return this.#ports.get("kube-scheduler") ?? 0;
  }

  /** Milliseconds since 1970 at which it had loaded its code. */
  get startingAt(): number {
    return this.#startingAt;
  }

  /** Until so many lists were made since the process began. */
  async hasListed(count: number): Promise<void> {
    await this.#until(`${count} lists`, async () => this.#listed.length >= count && this.#ports.size === 2);
  }

  /** Until it answers for Pods with claims; how long after the process began that was. */
  async isReady(): Promise<number> {
    await this.#until("readiness", async () => (await this.#debug("/readyz")).ok);
    return performance.now() - this.#begun;
  }

  /** Until it has taken over so many changes in all; answers how long that took. */
  async hasTakenOver(changes: number): Promise<number> {
    const begun = performance.now();
    await this.#until(`${changes} changes`, async () => (await this.changes()) >= changes);
    return performance.now() - begun;
  }

  async changes(): Promise<number> {
    const text = await (await this.#debug("/metrics")).text();
    let sum = 0;
    for (const [, value] of text.matchAll(/^berth_watch_changes_total\{.*\} (\d+)$/gm)) sum += Number(value);
    return sum;
  }

  /** Forgets blocks and peaks so far. */
  begin(): Promise<Memory> {
    return this.#child.ask<Memory>("begin");
  }

  read(): Promise<Reading> {
    return this.#child.ask<Reading>("read");
  }

  async end(): Promise<void> {
    await this.#child.end();
    rmSync(this.#folder, { recursive: true });
  }

  #debug(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#ports.get("metrics and explanations")}${path}`);
  }

  #heard(line: string): void {
    const said = JSON.parse(line) as Readonly<Record<string, unknown>>;
    const { msg, kind, objects, address, level } = said;
    if (msg === "Starting") this.#startingAt = Date.parse(String(said["time"]));
    if (msg === "Listed") {
      const afterMs = performance.now() - this.#begun;
      this.#listed.push({ kind: String(kind), objects: Number(objects), afterMs });
    }
    const listener = /^Listening for (.+)$/.exec(String(msg))?.[1];
    if (listener) this.#ports.set(listener, Number(String(address).split(":").at(-1)));
    if (level === "warn" || level === "error") this.#troubles.push(line);
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const begun = performance.now();
    while (!(await isSo())) {
      if (this.#child.hasEnded) throw new Error(`Berth ended before ${what}`);
      if (performance.now() - begun > patienceMs) throw new Error(`waited in vain for ${what}`);
      await runtime.sleep(lookMs);
    }
  }
}
