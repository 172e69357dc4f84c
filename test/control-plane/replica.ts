/** One of several Berths, with a configuration of its own. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Raw } from "../support/make.ts";
import { configurationOf } from "../support/scenario.ts";
import { berthCommand } from "./control-plane.ts";
import type { Lab } from "./lab.ts";
import { freePorts } from "./processes.ts";
import { until, writeKubeconfig } from "./reach.ts";

export interface Replica {
  readonly name: string;
  readonly port: number;
  readonly readyUrl: string;
  /** What /readyz says; "" where nobody answers. */
  readiness(): Promise<string>;
  start(): void;
  /** SIGKILL. */
  end(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
}

/** @param server  where it finds kube-apiserver */
export async function makeReplica(
  { facts, processes }: Lab,
  { name, config, server = facts.server }: { name: string; config: Raw; server?: string },
): Promise<Replica> {
  const [port = 0, debug = 0] = await freePorts(2);
  const file = (what: string): string => join(facts.folder, `${name}-${what}`);
  writeFileSync(file("config.yaml"), configurationOf(config));
  writeKubeconfig(file("kubeconfig"), server);
  const readyUrl = `http://127.0.0.1:${debug}/readyz`;
  const command = [...berthCommand(file("kubeconfig"), port, debug), "--config", file("config.yaml")];
  return {
    name,
    port,
    readyUrl,
    readiness: async () => {
      const signal = AbortSignal.timeout(2_000);
      return fetch(readyUrl, { signal }).then(
        (reply) => reply.text(),
        () => "",
      );
    },
    start: () => processes.start(name, command as [string, ...string[]]),
    end: () => processes.end(name),
    signal: (signal) => processes.signal(name, signal),
  };
}

/** Resolves when this one, and no other, is ready: the others say who leads. */
export async function untilLeads(leader: Replica, others: readonly Replica[]): Promise<void> {
  await until(`${leader.name} leads`, async () => {
    const follow = await Promise.all(others.map((one) => one.readiness()));
    return (await leader.readiness()) === "ok\n" && follow.every((says) => says.startsWith("not ready: follower:"));
  });
}
