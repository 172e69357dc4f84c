/** `npm run cluster`: what a developer gets, and that it ends. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { expect } from "vitest";
import { onPlane } from "./on-plane.ts";
import { get, reach, until } from "./reach.ts";

const childrenOf = (pid: number): number[] =>
  execFileSync("ps", ["-o", "pid=,ppid=,comm=", "-A"], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, parent, command]) => Number(parent) === pid && command !== "ps")
    .map(([child]) => Number(child));

const runs = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

async function start() {
  const args = ["test/control-plane/main.ts", "-f", "manifests/examples/10-classes.yaml"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  await until("the kubeconfig is printed", async () => output.endsWith("\n"));
  const [, path = ""] = /^export KUBECONFIG=(\S+)\n$/.exec(output) ?? [];
  return { child, ended, path, parts: childrenOf(child.pid ?? 0) };
}

onPlane("npm run cluster prints a kubeconfig, applies the files, and ends all it started on Ctrl-C", {}, async () => {
  const { child, ended, path, parts } = await start();
  const { clusters } = JSON.parse(readFileSync(path, "utf8")) as { clusters: [{ cluster: { server: string } }] };
  const transport = reach(clusters[0].cluster.server);
  const classes = JSON.parse((await get(transport.exchange, "/apis/storage.k8s.io/v1/storageclasses")).text) as {
    items: object[];
  };
  expect(classes.items.length).toBeGreaterThan(0);
  transport.close();
  // etcd, kube-apiserver, kube-controller-manager, kube-scheduler, Berth, and who ends them if need be.
  expect(parts.length).toBeGreaterThanOrEqual(5);
  child.kill("SIGINT");
  expect(await ended).toBe(0);
  await until("nothing of it runs", async () => !parts.some(runs), 10_000);
  expect(existsSync(dirname(path))).toBe(false);
});

onPlane("npm run cluster leaves nothing running where it is killed", {}, async () => {
  const { child, ended, path, parts } = await start();
  child.kill("SIGKILL");
  await ended;
  await until("nothing of it runs", async () => !parts.some(runs), 10_000);
  rmSync(dirname(path), { recursive: true });
});
