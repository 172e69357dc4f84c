/** Prometheus and promtool: from the folder that PROMETHEUS_BIN names, from where `.ci/run` lays Debian's, or from the PATH. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "vitest";

export interface PrometheusPrograms {
  readonly prometheus: string;
  readonly promtool: string;
}

/** Tests that need them: where they are not to be had each is skipped by its name; in CI it fails. */
export function withPrometheus(
  name: string,
  options: { readonly timeout?: number },
  run: (programs: PrometheusPrograms) => Promise<void> | void,
): void {
  test(name, options, async ({ skip }) => {
    const found = find();
    if (!found && process.env["CI"] !== "true") skip(lacking);
    if (!found) throw new Error(lacking);
    await run(found);
  });
}

const lacking =
  "there is no prometheus and no promtool: install them, or name their folder in PROMETHEUS_BIN, or lay Debian's package into .cache as .ci/run does";

function find(): PrometheusPrograms | undefined {
  const folders = [process.env["PROMETHEUS_BIN"], resolve(".cache", "prometheus", "usr", "bin")];
  for (const folder of folders) {
    if (folder === undefined || !existsSync(join(folder, "promtool"))) continue;
    return { prometheus: join(folder, "prometheus"), promtool: join(folder, "promtool") };
  }
  const inPath = (name: string): boolean => spawnSync(name, ["--version"]).status === 0;
  return inPath("prometheus") && inPath("promtool") ? { prometheus: "prometheus", promtool: "promtool" } : undefined;
}

/** What promtool says, and whether it is content. */
export function promtool(
  { promtool: path }: PrometheusPrograms,
  args: readonly string[],
  input = "",
): { readonly ok: boolean; readonly said: string } {
  try {
    return { ok: true, said: execFileSync(path, args, { input, encoding: "utf8", stdio: "pipe" }) };
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return { ok: false, said: `${stdout}${stderr}` };
  }
}
