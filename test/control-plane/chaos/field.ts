/** A control plane to do harm to: bursts of Pods on it, and what can be seen of them in the API. */
import { nodeRuntime as runtime } from "../../../src/runtime/node-runtime.ts";
import { audit } from "../../support/auditor.ts";
import { type Given, objectsOf } from "../../support/given.ts";
import type { Raw } from "../../support/make.ts";
import { mulberry32 } from "../../support/mulberry32.ts";
import { objectPathOf } from "../../support/paths.ts";
import { burstOf, claimsOf, type WaitingPod, waitingPods } from "../burst.ts";
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from "../control-plane.ts";
import { inParallel } from "../in-parallel.ts";
import { reach } from "../reach.ts";
import { type RealStage, realStage } from "../real-stage.ts";
import { type SlowLink, startSlowLink } from "../slow-link.ts";

export interface Size {
  /** Of one burst: a multiple of the nodes. */
  readonly pods: number;
  readonly nodes: number;
}

export interface FieldOptions extends Pick<ControlPlaneOptions, "programs" | "version"> {
  readonly size: Size;
  /** Of the moments that are chosen at random. */
  readonly seed: number;
  /** Told what was done, and when. */
  readonly note: (line: string) => void;
}

type Linked = "berth" | "kube-scheduler";

export interface Field {
  readonly plane: ControlPlane;
  readonly size: Size;
  readonly note: (line: string) => void;
  /** Milliseconds, at random between these. */
  between(min: number, max: number): number;
  /** Breaks every connection that it has with kube-apiserver. */
  cut(who: Linked): void;
  /** Disks and claims of the next burst, and a way to let its Pods come. */
  nextBurst(): Promise<FieldBurst>;
  /** What the auditor finds in all that is there. */
  audit(): Promise<string[]>;
  stop(options: { readonly keep: boolean }): Promise<void>;
}

export interface FieldBurst {
  /** Resolves when all Pods are there, whatever becomes of kube-apiserver meanwhile. */
  arrive(): Promise<void>;
  waiting(): Promise<WaitingPod[]>;
  /** Volumes that are given to the claims of Pods on no node: what somebody is in the middle of. */
  halfDone(): Promise<number>;
}

/** Where it fails nothing is left running. */
export async function startField({ programs, version, size, seed, note }: FieldOptions): Promise<Field> {
  const links = new Map<Linked, SlowLink>();
  const link = async (who: Linked, server: string): Promise<string> => {
    const made = await startSlowLink(server, 0);
    links.set(who, made);
    return made.server;
  };
  const plane = await startControlPlane({ programs, version, link });
  const transport = reach(plane.facts.server);
  const signal = async (name: string, what: NodeJS.Signals): Promise<void> => plane.processes.signal(name, what);
  const stage = realStage({ exchange: transport.exchange, signal }, false);
  const stop = async ({ keep }: { readonly keep: boolean }): Promise<void> => {
    stage.stop();
    await plane.stop({ keep });
    transport.close();
    for (const one of links.values()) one.close();
  };
  const names = Array.from({ length: size.nodes }, (_, index) => `n${index}`);
  try {
    for (const node of objectsOf({ nodes: Object.fromEntries(names.map((name) => [name, null])) })) {
      await stage.apply(node);
    }
  } catch (error) {
    await stop({ keep: true });
    throw error;
  }
  const random = mulberry32(seed);
  let bursts = 0;
  return {
    plane,
    size,
    note,
    between: (min, max) => min + Math.floor(random() * (max - min)),
    cut: (who) => links.get(who)?.cut(),
    nextBurst: () => prepare(stage, names, size, `burst-${bursts++}`),
    audit: () => audit(stage),
    stop,
  };
}

async function prepare(stage: RealStage, nodes: readonly string[], { pods }: Size, name: string): Promise<FieldBurst> {
  const burst = burstOf(name, nodes, pods);
  await createAll(stage, burst.storage);
  const waiting = (): Promise<WaitingPod[]> => waitingPods(stage, name);
  return {
    arrive: () => createAll(stage, burst.pods),
    waiting,
    halfDone: async () => {
      const claims = new Set((await waiting()).flatMap(({ name }) => claimsOf(name)));
      const volumes = (await stage.list("PersistentVolume")) as unknown as Volume[];
      return volumes.filter(({ spec }) => claims.has(spec.claimRef?.name ?? "")).length;
    },
  };
}

interface Volume {
  readonly spec: { readonly claimRef?: { readonly name: string } };
}

const triesMax = 300;

/** Kind by kind, many of each at once. */
async function createAll(stage: RealStage, given: Given): Promise<void> {
  for (const [, objects] of Map.groupBy(objectsOf(given), ({ kind }) => kind)) {
    await inParallel(objects, (object) => createSurely(stage, object));
  }
}

async function createSurely(stage: RealStage, object: Raw): Promise<void> {
  const { name, namespace } = object["metadata"] as { name: string; namespace?: string };
  const path = objectPathOf(String(object["kind"]), namespace, name);
  let why: unknown;
  for (let tries = 0; tries < triesMax; tries++) {
    const outcome = await stage.call("POST", path.slice(0, path.lastIndexOf("/")), object).catch((error) => error);
    // There already: the answer to an earlier try was lost.
    if (outcome.status < 300 || outcome.status === 409) return;
    why = outcome instanceof Error ? outcome.message : JSON.stringify(outcome.body);
    await runtime.sleep(200);
  }
  throw new Error(`POST ${path}: ${why}`);
}
