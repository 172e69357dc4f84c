/**
 * The Go module that Kubernetes' programs are built from. That of the default version is committed with its sums; that of any
 * other is made from Kubernetes' own go.mod, which the module proxy serves.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The version whose module is committed in this folder. */
export function builtVersion(source: string): string {
  const [, version] = /^\tk8s\.io\/kubernetes v(\S+)$/m.exec(readFileSync(join(source, "go.mod"), "utf8")) ?? [];
  if (version === undefined) throw new Error(`${source}/go.mod names no k8s.io/kubernetes`);
  return version;
}

export type Module = { readonly ok: true; readonly file: string } | { readonly ok: false; readonly why: string };

/**
 * The go.mod to build this version with, its go.sum beside it.
 *
 * @param folder  where one that has to be made is kept
 */
export function kubernetesModule(version: string, source: string, folder: string, say: (line: string) => void): Module {
  if (version === builtVersion(source)) return { ok: true, file: resolve(source, "go.mod") };
  const file = resolve(folder, "kubernetes.mod");
  if (existsSync(file)) return { ok: true, file };

  say(`Go looks for the modules of Kubernetes ${version}: a minute the first time`);
  const named = spawnSync("go", ["mod", "download", "-json", `k8s.io/kubernetes@v${version}`], { encoding: "utf8" });
  if (named.error) {
    const why = `there is no Go to build Kubernetes ${version} with, and KUBEBUILDER_ASSETS names no folder that has it`;
    return { ok: false, why };
  }
  if (named.status !== 0)
    return { ok: false, why: `Go finds no k8s.io/kubernetes v${version}: ${named.stdout.trim()}` };
  const { GoMod } = JSON.parse(named.stdout) as { GoMod: string };
  mkdirSync(folder, { recursive: true });
  const draft = join(folder, "draft.mod");
  writeFileSync(draft, moduleFor(version, readFileSync(GoMod, "utf8")));
  const tidied = spawnSync("go", ["mod", "tidy", `-modfile=${resolve(draft)}`], {
    cwd: source,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (tidied.status !== 0) return { ok: false, why: `Go cannot resolve the modules of Kubernetes ${version}` };
  writeFileSync(resolve(folder, "kubernetes.sum"), readFileSync(join(folder, "draft.sum")));
  // Last, for its presence says that all is there.
  writeFileSync(file, readFileSync(draft));
  return { ok: true, file };
}

/**
 * A go.mod for main.go. Kubernetes 1.n.p requires its staging modules at v0.0.0, which no proxy has: they are published as v0.n.p.
 *
 * @param upstream  text of Kubernetes' own go.mod
 */
export function moduleFor(version: string, upstream: string): string {
  const published = `v${version.replace(/^1\./, "0.")}`;
  const staging = [...upstream.matchAll(/^\t(k8s\.io\/\S+) => \.\/staging\//gm)].map(([, name = ""]) => name);
  const [, go] = /^go (\S+)$/m.exec(upstream) ?? [];
  const versionOf = (module: string): string => {
    const line = upstream.split("\n").find((one) => one.startsWith(`\t${module} `));
    const found = line?.trim().split(" ")[1];
    if (found === undefined) throw new Error(`Kubernetes ${version} does not name ${module}`);
    return found;
  };
  if (go === undefined || staging.length === 0)
    throw new Error(`the go.mod of Kubernetes ${version} is not as expected`);
  const lines = [
    "module berth.dev/control-plane",
    "",
    `go ${go}`,
    "",
    "require (",
    ...["github.com/spf13/cobra", "go.etcd.io/etcd/server/v3"].map((name) => `\t${name} ${versionOf(name)}`),
    `\tk8s.io/component-base ${published}`,
    `\tk8s.io/kubernetes v${version}`,
    ")",
    "",
    "replace (",
    ...staging.map((name) => `\t${name} => ${name} ${published}`),
    ")",
    "",
  ];
  return lines.join("\n");
}
