/**
 * `npm run demo`: Berth's main job from end to end, with nothing installed. A cluster in this process, Berth beside it on real
 * HTTP, the manifests of the examples; one line an event. Exit 0 only if every expectation held.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startBerthExtender } from "../../src/cli/sandbox-extender.ts";
import { listen } from "../../src/http/listener.ts";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import { kubeconfigFor } from "../../src/sandbox/kubeconfig.ts";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import type { CycleRecord } from "../../src/sandbox/scheduler/scheduler.ts";
import { readObjects } from "../support/scenario.ts";
import { ClusterView, type Placement } from "./cluster.ts";
import { type Scene, scenes } from "./story.ts";

const sceneLimitMs = 10_000;
const lookEveryMs = 25;

const begun = runtime.now();
const say = (line = ""): void => void process.stdout.write(`${line}\n`);
const tell = (line: string): void => say(`${((runtime.now() - begun) / 1000).toFixed(2).padStart(6)}s  ${line}`);

const { keep } = readOptions();
process.exitCode = await demo();

function readOptions(): { keep: boolean } {
  try {
    const { values } = parseArgs({ options: { keep: { type: "boolean" }, help: { type: "boolean", short: "h" } } });
    if (values.help) {
      say("Usage: npm run demo [-- --keep]\n\nShows Berth at work. --keep leaves the cluster running, for kubectl.");
      process.exit(0);
    }
    return { keep: values.keep === true };
  } catch (error) {
    process.stderr.write(`demo: ${(error as Error).message}; it takes --keep and --help\n`);
    process.exit(2);
  }
}

async function demo(): Promise<number> {
  const stopping = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stopping.abort());
  const sandbox = new Sandbox({ runtime, scheduler: false });
  const api = await listen({ handler: sandbox.api.exchange, host: "127.0.0.1", port: 0, bodyLimitBytes: 4 << 20 });
  let said = "";
  const io = {
    stdout: {
      write: (line: string) => {
        said += line;
      },
    },
    stderr: process.stderr,
    runtime,
    env: process.env,
    signal: stopping.signal,
  };
  const extender = await startBerthExtender({ api: sandbox.api.exchange, runtime, io });
  try {
    tell(`A cluster in this process. ${said.trim()}`);
    sandbox.startScheduler(extender.entries, { onCycle: narrate });
    const view = new ClusterView(sandbox.api.exchange, /explanations on (\S+)/.exec(said)?.[1] ?? "");
    for (const scene of scenes) await play(scene, sandbox, view);
    say();
    sayTable(await view.placements());
    say();
    tell("Every expectation held.");
    if (keep) await keepRunning(`http://${api.host}:${api.port}`, stopping.signal);
    return 0;
  } catch (error) {
    tell(`FAILED: ${(error as Error).message}`);
    return 1;
  } finally {
    sandbox.stop();
    await extender.stop();
    await api.closeNow();
  }
}

/** One line for what the scheduler did with a Pod. */
function narrate({ pod, outcome, node, message }: CycleRecord): void {
  if (outcome === "placed") tell(`${pod}: kube-scheduler chose ${node}; Berth binds its volumes`);
  else if (outcome === "bound") tell(`${pod}: bound to ${node}`);
  else
    tell(
      `${pod}: ${outcome === "error" ? "error" : "no node"}: ${message?.split(/\. (?:no new claims to deallocate, )?preemption:/)[0]}`,
    );
}

async function play(scene: Scene, sandbox: Sandbox, view: ClusterView): Promise<void> {
  say();
  say(scene.title);
  for (const line of (await scene.before?.(view)) ?? []) tell(line);
  for (const file of scene.files) {
    tell(`applying ${file}`);
    await sandbox.apply(readObjects(file));
  }
  for (let waited = 0; ; waited += lookEveryMs) {
    const unmet = await scene.unmet(view);
    if (unmet === undefined && sandbox.isIdle) break;
    if (waited > sceneLimitMs) throw new Error(unmet ?? "the cluster does not come to rest");
    await runtime.sleep(lookEveryMs);
  }
  for (const line of (await scene.after?.(view)) ?? []) tell(line);
}

function sayTable(placements: readonly Placement[]): void {
  const rows = placements.flatMap(({ pod, node, claims }) =>
    claims.map(({ claim, volume, surplus }) => [pod, node, `${claim} → ${volume}`, surplus] as const),
  );
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of [["POD", "NODE", "CLAIM → VOLUME", "SURPLUS"] as const, ...rows]) {
    say(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
  }
}

async function keepRunning(url: string, signal: AbortSignal): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "berth-demo-"));
  try {
    const path = join(folder, "kubeconfig");
    writeFileSync(path, kubeconfigFor(url), { mode: 0o600 });
    tell(`It keeps running; look around with: kubectl --kubeconfig ${path} get pods,pvc,pv`);
    tell("Ctrl-C ends it.");
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
