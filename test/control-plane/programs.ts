/**
 * Kubernetes' own programs: from the folder that KUBEBUILDER_ASSETS names where it has them, else one binary that Go builds out of
 * modules and that is any of them by its first argument.
 */
import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { goBuild } from "./go-build.ts";
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
export async function findPrograms(
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<Found> {
  const version = env["KUBE_VERSION"] || builtVersion(source);
  const assets = env["KUBEBUILDER_ASSETS"];
  const given = (name: ProgramName): string | undefined => {
    const path = assets && join(assets, name);
    return path && existsSync(path) ? path : undefined;
  };
  const binary = resolve(".cache", "control-plane", version, "control-plane");
  if (!programNames.every(given)) {
    const why = await build(version, binary, say);
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
async function build(version: string, binary: string, say: (line: string) => void): Promise<string | undefined> {
  const folder = dirname(binary);
  const made = kubernetesModule(version, source, folder, say);
  if (!made.ok) return existsSync(binary) ? undefined : made.why;
  const flags = `-s -w -X k8s.io/component-base/version.gitVersion=v${version}`;
  return goBuild(
    {
      what: `Kubernetes ${version}`,
      takes: "some six minutes",
      source,
      inputs: [made.file, join(source, "main.go")],
      folder,
      outputs: [basename(binary)],
      args: [`-modfile=${made.file}`, `-ldflags=${flags}`, "-o", binary, "."],
    },
    say,
  );
}
