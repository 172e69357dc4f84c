/** `berth sandbox`: a whole cluster in this process, with Berth in it, and kubectl welcome. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Listener, listen } from "../http/listener.ts";
import type { Exchange, Runtime } from "../runtime/runtime.ts";
import { ConfigurationError } from "../sandbox/configuration.ts";
import { kubeconfigFor } from "../sandbox/kubeconfig.ts";
import { ApplyError, Sandbox } from "../sandbox/sandbox.ts";
import type { ExtenderEntry } from "../sandbox/scheduler/extender.ts";
import type { CycleRecord } from "../sandbox/scheduler/scheduler.ts";
import { Misuse, parseOptions, runCommand } from "./arguments.ts";
import type { CommandIo } from "./io.ts";
import { type Manifest, readManifests } from "./manifests.ts";
import { startBerthExtender } from "./sandbox-extender.ts";
import { untilPlaced } from "./sandbox-wait.ts";

const help = `Usage: berth sandbox [-f FILE|DIR]... [--listen HOST:PORT] [--write-kubeconfig FILE] [--keep] [--no-scheduler]

Runs an API server, the controllers that bind and provision volumes, a scheduler, and Berth as its extender, all in this
process. Applies the files, prints a line for each Pod that is placed, and ends when all are or nothing changes any more:
with 0 if every Pod has a node, with 1 if one has none. kubectl works against it.

  -f, --file FILE              manifests, YAML or JSON, or a directory of them; may be repeated. Local disks and CSI
                               drivers are declared in a document of kind SandboxConfiguration
      --listen HOST:PORT       where the API is served (default 127.0.0.1, any free port)
      --write-kubeconfig FILE  where the kubeconfig goes (default a temporary file, which is named on stdout)
      --keep                   run until interrupted
      --no-scheduler           neither scheduler nor extender: bring your own
`;

const apiBodyBytesMax = 4 * 1024 * 1024;

/** An extender that runs, and how the scheduler of the sandbox reaches it. */
export interface RunningExtender {
  readonly entries: readonly ExtenderEntry[];
  stop(): Promise<void>;
}

/** Starts an extender for the cluster whose API `api` is. */
export type StartExtender = (o: {
  readonly api: Exchange;
  readonly runtime: Runtime;
  readonly io: CommandIo;
}) => Promise<RunningExtender>;

/** @param startExtender  Berth on real HTTP unless another is handed in; `undefined` for a scheduler without extenders */
export async function sandboxCommand(
  argv: readonly string[],
  io: CommandIo,
  startExtender: StartExtender | undefined = startBerthExtender,
): Promise<number> {
  return runCommand("sandbox", io, async () => {
    const options = parseOptions(argv, {
      file: { type: "string", short: "f", multiple: true },
      listen: { type: "string" },
      "write-kubeconfig": { type: "string" },
      keep: { type: "boolean" },
      "no-scheduler": { type: "boolean" },
      help: { type: "boolean", short: "h" },
    });
    if (options.help) {
      io.stdout.write(help);
      return 0;
    }
    if (!options.keep && !options.file) {
      throw new Misuse('nothing to do: name manifests with "-f", or keep it running with "--keep"');
    }
    return runSandbox(io, {
      manifests: readManifests(options.file ?? []),
      address: readAddress(options.listen ?? "127.0.0.1:0"),
      kubeconfig: options["write-kubeconfig"],
      keeps: options.keep === true,
      startExtender: options["no-scheduler"] ? undefined : startExtender,
      schedules: options["no-scheduler"] !== true,
    });
  });
}

interface Run {
  readonly manifests: readonly Manifest[];
  readonly address: { readonly host: string; readonly port: number };
  readonly kubeconfig: string | undefined;
  readonly keeps: boolean;
  readonly startExtender: StartExtender | undefined;
  readonly schedules: boolean;
}

async function runSandbox(io: CommandIo, run: Run): Promise<number> {
  const { runtime, stdout } = io;
  const onCycle = (record: CycleRecord): void => {
    if (record.outcome === "bound") stdout.write(`Pod ${record.pod} runs on ${record.node}\n`);
  };
  const sandbox = new Sandbox({ runtime, scheduler: false });
  const listener = await serveApi(sandbox, run.address);
  const temporary = run.kubeconfig === undefined ? mkdtempSync(join(tmpdir(), "berth-sandbox-")) : undefined;
  let extender: RunningExtender | undefined;
  try {
    const { host, port } = listener;
    const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
    const path = run.kubeconfig ?? join(temporary ?? "", "kubeconfig");
    writeKubeconfig(url, path);
    stdout.write(`API on ${url}, kubectl --kubeconfig ${path}\n`);
    extender = await run.startExtender?.({ api: sandbox.api.exchange, runtime, io });
    if (run.schedules) sandbox.startScheduler(extender?.entries ?? [], { onCycle });
    await apply(sandbox, run.manifests);
    return run.keeps ? await untilAborted(io) : await untilPlaced(sandbox, io);
  } finally {
    sandbox.stop();
    await extender?.stop();
    await listener.closeNow();
    if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true });
  }
}

async function serveApi(sandbox: Sandbox, { host, port }: Run["address"]): Promise<Listener> {
  try {
    return await listen({ handler: sandbox.api.exchange, host, port, bodyLimitBytes: apiBodyBytesMax });
  } catch (error) {
    throw new Misuse(`cannot listen on ${host}:${port} (${(error as Error).message}); choose another --listen`);
  }
}

async function apply(sandbox: Sandbox, manifests: readonly Manifest[]): Promise<void> {
  for (const { object, where } of manifests) {
    try {
      await sandbox.apply([object]);
    } catch (error) {
      if (error instanceof ApplyError || error instanceof ConfigurationError)
        throw new Misuse(`${where}: ${error.message}`);
      throw error;
    }
  }
}

async function untilAborted({ signal }: CommandIo): Promise<number> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  return 0;
}

function writeKubeconfig(url: string, path: string): void {
  try {
    writeFileSync(path, kubeconfigFor(url), { mode: 0o600 });
  } catch (error) {
    throw new Misuse(`--write-kubeconfig ${path}: ${(error as Error).message}`);
  }
}

function readAddress(text: string): { host: string; port: number } {
  const [, bracketed, plain, digits = ""] = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  const host = bracketed ?? plain;
  if (host === undefined || port > 65_535) throw new Misuse(`--listen ${text}: write it as HOST:PORT`);
  return { host, port };
}
