/**
 * Programs that stand beside a control plane in a real cluster, built out of one Go module: external-provisioner, kwok in the place
 * of kubelets, and a CSI driver in memory for the one to call.
 */
import { globSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeAll } from "vitest";
import { goBuild } from "./go-build.ts";

/** Paths of the binaries. */
export interface Neighbours {
  readonly provisioner: string;
  readonly kwok: string;
  readonly driver: string;
}

const source = join("test", "control-plane", "neighbours");
const packages = [
  "github.com/kubernetes-csi/external-provisioner/v6/cmd/csi-provisioner",
  "sigs.k8s.io/kwok/cmd/kwok",
  "berth.dev/neighbours/csi-driver",
];

/**
 * For the tests of a file: builds before the first of them what is not there yet, minutes the first time, seconds from Go's cache.
 *
 * @returns the binaries, or why there are none; of use once a test runs
 */
export function neighboursForTests(): () => Neighbours | string {
  const folder = resolve(".cache", "control-plane", "neighbours");
  let why: string | undefined;
  beforeAll(async () => {
    const inputs = globSync(join(source, "**", "*.{mod,sum,go}")).sort();
    const outputs = ["csi-provisioner", "kwok", "csi-driver"];
    const args = ["-ldflags=-s -w", "-o", `${folder}/`, ...packages];
    const what = "external-provisioner, kwok and a CSI driver";
    const say = (line: string): void => void process.stderr.write(`cluster: ${line}\n`);
    why = await goBuild({ what, takes: "some four minutes", source, inputs, folder, outputs, args }, say);
  }, 1_800_000);
  return () =>
    why ?? {
      provisioner: join(folder, "csi-provisioner"),
      kwok: join(folder, "kwok"),
      driver: join(folder, "csi-driver"),
    };
}
