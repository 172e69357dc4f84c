/** kube-scheduler's own extender client as a command, built by Go beside the control plane; see its main.go. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { goBuild } from "./go-build.ts";
import { builtVersion, kubernetesModule } from "./go-module.ts";

export interface Order {
  readonly URLPrefix: string;
  /** Plain HTTP without. */
  readonly TLS?: { readonly CAFile: string; readonly CertFile: string; readonly KeyFile: string };
  readonly Verb: "filter" | "bind";
  readonly Calls: number;
  readonly InParallel: number;
  /** Names that a filter carries. */
  readonly Nodes?: number;
}

export interface Ordered {
  readonly failed: number;
  readonly firstError: string;
  readonly wallMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of the client's process. */
  readonly cpuMs: number;
}

export type ExtenderClient = (order: Order) => Promise<Ordered>;

const source = join("test", "control-plane", "module");

/** @returns why there is none, where there is none */
export async function findExtenderClient(
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<ExtenderClient | string> {
  const version = env["KUBE_VERSION"] || builtVersion(source);
  const home = resolve(".cache", "control-plane", version);
  const folder = join(home, "extender-client");
  const binary = join(folder, "extender-client");
  const made = kubernetesModule(version, source, home, say);
  if (!made.ok && !existsSync(binary)) return made.why;
  if (made.ok) {
    const why = await goBuild(
      {
        what: `the extender client of Kubernetes ${version}`,
        takes: "some four minutes",
        source,
        inputs: [made.file, join(source, "extender-client", "main.go")],
        folder,
        outputs: ["extender-client"],
        args: [`-modfile=${made.file}`, "-ldflags=-s -w", "-o", binary, "./extender-client"],
      },
      say,
    );
    if (why !== undefined) return why;
  }
  return (order) =>
    new Promise((done, fail) => {
      execFile(binary, [JSON.stringify(order)], (error, stdout, stderr) => {
        if (error) fail(new Error(`the extender client: ${stderr || error.message}`));
        else done(JSON.parse(stdout) as Ordered);
      });
    });
}
