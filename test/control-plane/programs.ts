/**
 * Kubernetes' own programs: from the folder that KUBEBUILDER_ASSETS names where it has them, else one binary that Go builds out of
 * modules and that is any of them by its first argument.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { builtVersion, kubernetesModule } from "./go-module.ts";

export const programNames = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"] as const;
export type ProgramName = (typeof programNames)[number];

/** A command and the arguments that come before the program's own. */
export type Programs = Readonly<Record<ProgramName, readonly [string, ...string[]]>>;

export type Found =
  | { readonly ok: true; readonly programs: Programs; readonly version: string }
  /** Why there are none, and what to do. */
  | { readonly ok: false; readonly why: string };

const source = join("test", "control-plane", "module");

/**
 * Builds what is not there yet: minutes the first time, seconds from Go's cache.
 *
 * @param env  KUBE_VERSION, such as 1.36.3, and KUBEBUILDER_ASSETS, a folder that has some of the programs or all
 */
export function findPrograms(env: Readonly<Record<string, string | undefined>>, say: (line: string) => void): Found {
  const version = env["KUBE_VERSION"] || builtVersion(source);
  const assets = env["KUBEBUILDER_ASSETS"];
  const given = (name: ProgramName): string | undefined => {
    const path = assets && join(assets, name);
    return path && existsSync(path) ? path : undefined;
  };
  const binary = resolve(".cache", "control-plane", version, "control-plane");
  if (!programNames.every(given)) {
    const why = build(version, binary, say);
    if (why !== undefined) return { ok: false, why };
  }
  const command = (name: ProgramName): [string, ...string[]] => {
    const path = given(name);
    return path === undefined ? [binary, name] : [path];
  };
  const programs = {
    etcd: command("etcd"),
    "kube-apiserver": command("kube-apiserver"),
    "kube-controller-manager": command("kube-controller-manager"),
    "kube-scheduler": command("kube-scheduler"),
  };
  return { ok: true, programs, version };
}

/** Undefined when the binary stands there and is made of these sources. */
function build(version: string, binary: string, say: (line: string) => void): string | undefined {
  const folder = join(binary, "..");
  const made = kubernetesModule(version, source, folder, say);
  if (!made.ok) return existsSync(binary) ? undefined : made.why;
  const stamp = createHash("sha256");
  for (const file of [made.file, join(source, "main.go")]) stamp.update(readFileSync(file));
  const is = stamp.digest("hex");
  const mark = join(folder, "built-from");
  if (existsSync(binary) && existsSync(mark) && readFileSync(mark, "utf8") === is) return undefined;

  // A binary of older sources serves where there is no Go.
  if (spawnSync("go", ["version"]).error) return existsSync(binary) ? undefined : noGo;
  say(`Go builds Kubernetes ${version}: some six minutes the first time, seconds later`);
  mkdirSync(folder, { recursive: true });
  const flags = `-s -w -X k8s.io/component-base/version.gitVersion=v${version}`;
  const args = ["build", `-modfile=${made.file}`, `-ldflags=${flags}`, "-o", binary, "."];
  const built = spawnSync("go", args, { cwd: source, stdio: ["ignore", "inherit", "inherit"] });
  if (built.status !== 0) return `Go could not build Kubernetes ${version}; it says above why`;
  writeFileSync(mark, is);
  return undefined;
}

const noGo =
  "the control plane is built by Go, which is not installed, and KUBEBUILDER_ASSETS names no folder that has it";
