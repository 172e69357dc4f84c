/**
 * Scenarios: YAML files that say what is applied to a cluster and what must come of it. They know nothing of the world they run
 * in; a `Stage` is the sandbox, or a real control plane.
 *
 *     name: a sentence that states what is shown
 *     covers: [what it is about]                         # rows of scenario-rows.ts
 *     awaits: what Berth lacks as yet                     # optional: the scenario is kept for it, and not run
 *     beyondCore: who else has a part in it               # optional: why the pure core alone cannot play it, see core-stage.ts
 *     config: {scoring: {strategy: spread}}               # optional: a BerthConfiguration; Berth has the defaults otherwise
 *     steps:
 *     - files: [manifests/examples/10-classes.yaml]     # applied in order
 *     - given: {nodes: {n1: }, classes: {local: wait}, …} # short forms, see given.ts
 *     - apply: [{apiVersion: v1, kind: …}]
 *     - delete: Pod/default/archive                       # Kind/name or Kind/namespace/name
 *     - patch: {object: Node/n1, merge: {metadata: {labels: {rack: r1}}}}
 *     - reserve: {disk-1: shop/cart}                      # the volume's claimRef, with the claim's uid of this moment
 *     - pause: controllers                                # those of kube-controller-manager stand still; `resume: controllers`
 *     - restart: berth                                    # only where there is a `config`, if only `{}`
 *     - expect:
 *         within: 10s                                     # default 10 s; every line must hold at one moment
 *         pods: {default/archive: {node: delta}, default/search: {pending: "a part of its message"}}
 *                                                         # pending: {"1.34": …, "1.37": …} where versions of Kubernetes differ
 *         nodes: {default/db: [alpha, bravo, charlie]}    # Pods whose name begins so, spread over these nodes
 *         claims: {default/cold: delta-nvme-2}             # bound to the volume; "" is not bound; "*" is any; "gone" as below
 *         volumes: {bravo-ssd-1: Available}                # phase; "gone" where it must not exist
 *         reserved: {bravo-ssd-1: default/cold}            # the claim that its claimRef names; "" where it has none
 *         events: [{pod: default/archive, reason: Scheduled, contains: delta}]
 *     - stays: {for: 5s, …}                               # as expect, and still so after that time
 */
import { readFileSync } from "node:fs";
import { parse, parseAllDocuments, stringify } from "yaml";
import { type ByVersion, forVersion } from "../control-plane/versions.ts";
import { type Given, objectsOf, split } from "./given.ts";
import type { Raw } from "./make.ts";

const sandboxVersion = "1.36.3";

/** A cluster that a scenario runs in. */
export interface Stage {
  /** Of its Kubernetes; left out where it is the one that the sandbox imitates. */
  readonly version?: string;
  apply(object: Raw): Promise<void>;
  delete(kind: string, namespace: string | undefined, name: string): Promise<void>;
  patch(kind: string, namespace: string | undefined, name: string, merge: unknown): Promise<void>;
  list(kind: string): Promise<readonly Raw[]>;
  /** The controllers of kube-controller-manager stand still, with what they know, until they are resumed. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Berth ends, and another one begins. */
  restart(): Promise<void>;
  /** Lets time pass: virtual in the sandbox, real elsewhere. */
  pass(ms: number): Promise<void>;
}

interface PodExpectation {
  readonly node?: string;
  /** A part of the message of its PodScheduled condition, or what it is from each version of Kubernetes on. */
  readonly pending?: string | ByVersion<string>;
}

export interface Expectation {
  readonly within?: string;
  readonly for?: string;
  readonly pods?: Readonly<Record<string, PodExpectation>>;
  readonly nodes?: Readonly<Record<string, readonly string[]>>;
  readonly claims?: Readonly<Record<string, string>>;
  readonly volumes?: Readonly<Record<string, string>>;
  readonly reserved?: Readonly<Record<string, string>>;
  readonly events?: readonly { readonly pod: string; readonly reason?: string; readonly contains?: string }[];
}

export type Step =
  | { readonly files: readonly string[] }
  | { readonly given: Given }
  | { readonly apply: readonly Raw[] }
  | { readonly delete: string }
  | { readonly patch: { readonly object: string; readonly merge: unknown } }
  | { readonly reserve: Readonly<Record<string, string>> }
  | { readonly pause: "controllers" }
  | { readonly resume: "controllers" }
  | { readonly restart: "berth" }
  | { readonly expect: Expectation }
  | { readonly stays: Expectation };

export interface Scenario {
  readonly name: string;
  readonly covers: readonly string[];
  /** What Berth lacks as yet, where the scenario must fail without it: it is known, and not run. */
  readonly awaits?: string;
  /** Why the pure core alone cannot play it. */
  readonly beyondCore?: string;
  /** Of a BerthConfiguration, without apiVersion and kind. */
  readonly config?: Raw;
  readonly steps: readonly Step[];
}

export function readScenario(path: string): Scenario {
  return parse(readFileSync(path, "utf8")) as Scenario;
}

/** The configuration file of a scenario, as text. */
export function configurationOf(config: Raw): string {
  return stringify({ apiVersion: "berth.dev/v1alpha1", kind: "BerthConfiguration", ...config });
}

/** Runs every step. @throws Error that says which step failed and what was found instead */
export async function runScenario({ steps }: Scenario, stage: Stage): Promise<void> {
  for (const [index, step] of steps.entries()) {
    const where = `step ${index + 1}`;
    if ("expect" in step) await eventually(step.expect, stage, where);
    else if ("stays" in step) await stays(step.stays, stage, where);
    else {
      await act(step, stage).catch((error: Error) => {
        throw new Error(`${where}: ${error.message}`, { cause: error });
      });
    }
  }
}

async function act(step: Exclude<Step, { expect: unknown } | { stays: unknown }>, stage: Stage): Promise<void> {
  if ("files" in step) for (const file of step.files) await applyAll(readObjects(file), stage);
  else if ("given" in step) await applyAll(objectsOf(step.given), stage);
  else if ("apply" in step) await applyAll(step.apply, stage);
  else if ("delete" in step) await stage.delete(...target(step.delete));
  else if ("patch" in step) await stage.patch(...target(step.patch.object), step.patch.merge);
  else if ("reserve" in step) await reserve(step.reserve, stage);
  else if ("pause" in step) await stage.pause();
  else if ("resume" in step) await stage.resume();
  else if ("restart" in step) await stage.restart();
  else throw new Error(`no step is ${JSON.stringify(step)}`);
}

async function reserve(wanted: Readonly<Record<string, string>>, stage: Stage): Promise<void> {
  const claims = await stage.list("PersistentVolumeClaim");
  for (const [volume, key] of Object.entries(wanted)) {
    const uid = text(
      claims.find((one) => keyOf(one) === key),
      "metadata",
      "uid",
    );
    const claimRef = { apiVersion: "v1", kind: "PersistentVolumeClaim", ...split(key), uid };
    await stage.patch("PersistentVolume", undefined, volume, { spec: { claimRef } });
  }
}

export function readObjects(file: string): Raw[] {
  return parseAllDocuments(readFileSync(file, "utf8")).flatMap((document) => {
    const object = document.toJS() as Raw | null;
    return object ? [object] : [];
  });
}

async function applyAll(objects: Iterable<Raw>, stage: Stage): Promise<void> {
  for (const object of objects) await stage.apply(object);
}

function target(text: string): [string, string | undefined, string] {
  const [kind = "", ...rest] = text.split("/");
  return rest.length === 1 ? [kind, undefined, rest[0] ?? ""] : [kind, rest[0], rest[1] ?? ""];
}

const stepMs = 250;

async function eventually(want: Expectation, stage: Stage, where: string): Promise<void> {
  const limitMs = milliseconds(want.within ?? "10s");
  for (let waited = 0; ; waited += stepMs) {
    const unmet = await unmetBy(want, stage);
    if (unmet.length === 0) return;
    if (waited >= limitMs) throw new Error(`${where}: not within ${limitMs / 1000} s: ${unmet.join("; ")}`);
    await stage.pass(stepMs);
  }
}

async function stays(want: Expectation, stage: Stage, where: string): Promise<void> {
  await eventually(want, stage, where);
  await stage.pass(milliseconds(want.for ?? "5s"));
  const unmet = await unmetBy(want, stage);
  if (unmet.length > 0) throw new Error(`${where}: did not stay so: ${unmet.join("; ")}`);
}

function milliseconds(text: string): number {
  const match = /^(\d+)(ms|s|m)$/.exec(text);
  if (!match) throw new Error(`"${text}" is no duration`);
  return Number(match[1]) * ({ ms: 1, s: 1000, m: 60_000 }[match[2] as "ms" | "s" | "m"] ?? 1);
}

/** What does not hold, in words; empty when all does. */
async function unmetBy(want: Expectation, stage: Stage): Promise<string[]> {
  const unmet: string[] = [];
  if (want.pods || want.nodes) unmet.push(...podsUnmet(want, await stage.list("Pod"), stage.version));
  if (want.claims) unmet.push(...claimsUnmet(want.claims, await stage.list("PersistentVolumeClaim")));
  if (want.volumes || want.reserved) unmet.push(...volumesUnmet(want, await stage.list("PersistentVolume")));
  if (want.events) unmet.push(...eventsUnmet(want.events, await stage.list("Event")));
  return unmet;
}

function podsUnmet({ pods = {}, nodes = {} }: Expectation, found: readonly Raw[], version = sandboxVersion): string[] {
  const unmet: string[] = [];
  for (const [key, { node, pending: says }] of Object.entries(pods)) {
    const pending = typeof says === "object" ? forVersion({ version }, says) : says;
    const pod = found.find((one) => keyOf(one) === key);
    const on = text(pod, "spec", "nodeName");
    if (node !== undefined && (node === "*" ? on === "" : on !== node))
      unmet.push(`pod ${key} is on "${on}", not ${node}`);
    if (pending === undefined) continue;
    const conditions = (at(pod, "status", "conditions") ?? []) as { type: string; message?: string }[];
    const message = conditions.find(({ type }) => type === "PodScheduled")?.message ?? "";
    if (on !== "" || !message.includes(pending)) unmet.push(`pod ${key} is on "${on}" and says "${message}"`);
  }
  for (const [prefix, want] of Object.entries(nodes)) {
    const on = found.filter((one) => keyOf(one).startsWith(prefix)).map((one) => text(one, "spec", "nodeName"));
    if (on.sort().join() !== [...want].sort().join()) unmet.push(`pods ${prefix}* are on [${on}], not [${want}]`);
  }
  return unmet;
}

function claimsUnmet(want: Readonly<Record<string, string>>, found: readonly Raw[]): string[] {
  return Object.entries(want).flatMap(([key, volume]) => {
    const claim = found.find((one) => keyOf(one) === key);
    if (volume === "gone") return claim ? [`claim ${key} is still there`] : [];
    const bound = text(claim, "status", "phase") === "Bound" ? text(claim, "spec", "volumeName") : "";
    const holds = volume === "*" ? bound !== "" : bound === volume;
    return holds ? [] : [`claim ${key} is bound to "${bound}", not "${volume}"`];
  });
}

function volumesUnmet({ volumes = {}, reserved = {} }: Expectation, found: readonly Raw[]): string[] {
  const phases = Object.entries(volumes).flatMap(([name, phase]) => {
    const volume = found.find((one) => keyOf(one) === name);
    const is = volume ? text(volume, "status", "phase") : "gone";
    return is === phase ? [] : [`volume ${name} is ${is}, not ${phase}`];
  });
  const claimRefs = Object.entries(reserved).flatMap(([name, key]) => {
    const volume = found.find((one) => keyOf(one) === name);
    const ref = at(volume, "spec", "claimRef");
    const is = ref ? `${text(ref, "namespace")}/${text(ref, "name")}` : "";
    return is === key ? [] : [`volume ${name} is reserved for "${is}", not "${key}"`];
  });
  return [...phases, ...claimRefs];
}

function eventsUnmet(want: NonNullable<Expectation["events"]>, found: readonly Raw[]): string[] {
  return want.flatMap(({ pod, reason, contains = "" }) => {
    const holds = found.some((event) => {
      const about = (at(event, "involvedObject") ?? at(event, "regarding") ?? {}) as {
        namespace?: string;
        name?: string;
      };
      const note = String(at(event, "message") ?? at(event, "note") ?? "");
      return (
        `${about.namespace}/${about.name}` === pod &&
        (reason === undefined || text(event, "reason") === reason) &&
        note.includes(contains)
      );
    });
    return holds ? [] : [`no event ${reason ?? ""} on pod ${pod} that contains "${contains}"`];
  });
}

function keyOf(object: Raw): string {
  const namespace = text(object, "metadata", "namespace");
  return namespace === "" ? text(object, "metadata", "name") : `${namespace}/${text(object, "metadata", "name")}`;
}

function at(object: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], object);
}

function text(object: unknown, ...path: readonly string[]): string {
  return String(at(object, ...path) ?? "");
}
