/** Berth on a real kube-apiserver with the roles of `berth rbac` alone, and with less (docs/permissions.md). */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { checkPermissionsCommand } from "../../src/cli/check-permissions.ts";
import { allRights, ownReview, type Right, titleOf } from "../../src/permissions/rights.ts";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import { runCommand } from "../cli/support.ts";
import { audit } from "../support/auditor.ts";
import type { Raw } from "../support/make.ts";
import { configurationOf } from "../support/scenario.ts";
import { berthCommand, type Facts } from "./control-plane.ts";
import { berthEntries } from "./kube-scheduler.ts";
import { inLab, type Lab } from "./lab.ts";
import { onPlane, type Reached } from "./on-plane.ts";
import { freePorts } from "./processes.ts";
import { auditedToken, until, writeKubeconfig } from "./reach.ts";
import { type AuditedCall, auditedCalls, grant } from "./roles.ts";

const account = "audited";
const leaseName = "berth-audited";
const lease = { namespace: "kube-system", name: leaseName };
const title = (right: Right): string => titleOf(right, lease);

function kubeconfigOf({ folder, server }: Facts): string {
  const path = join(folder, "audited-kubeconfig");
  writeKubeconfig(path, server, auditedToken);
  return path;
}

interface Audited {
  readonly url: string;
  readiness(): Promise<string>;
  lines(): Record<string, unknown>[];
}

/** A Berth as the audited account. */
async function startAudited({ facts, processes }: Lab, name: string, cache = {}): Promise<Audited> {
  const [port = 0, debug = 0] = await freePorts(2);
  const config = join(facts.folder, `${name}.yaml`);
  writeFileSync(config, configurationOf({ leaderElection: { resourceName: leaseName }, cache }));
  processes.start(name, [...berthCommand(kubeconfigOf(facts), port, debug), "--config", config]);
  return {
    url: `http://127.0.0.1:${port}/v1`,
    readiness: async () => (await fetch(`http://127.0.0.1:${debug}/readyz`)).text(),
    lines: () =>
      readFileSync(join(facts.folder, `${name}.log`), "utf8")
        .split("\n")
        .filter((line) => line.endsWith("}"))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

const isReady = (berth: Audited) => async (): Promise<boolean> => (await berth.readiness()) === "ok\n";

/** What Berth says at its start of its rights: titles of those that it lacks. */
async function lacking(berth: Audited): Promise<unknown[]> {
  const isLast = ({ msg }: Record<string, unknown>): boolean => /^Has every right|^Serves without/.test(String(msg));
  await until("Berth has said which rights it lacks", async () => berth.lines().some(isLast));
  return berth.lines().flatMap(({ msg, right }) => (msg === "Lacks a right" ? [right] : []));
}

/** As a right of the list has it. */
function titleOfCall({ verb, objectRef = {} }: AuditedCall): string {
  const { apiGroup = "", resource = "", subresource, name } = objectRef;
  const isLease = resource === "leases";
  const on = !isLease ? "cluster" : name === undefined || verb === "create" ? "leaseNamespace" : "lease";
  const right = { verb, group: apiGroup, resource, ...(subresource !== undefined && { subresource }), on };
  return titleOf(right as Right, lease);
}

const disk = (on: string) => ({ on, class: "local", size: "10Gi" });
const claim = { class: "local", size: "10Gi" };

onPlane("with the roles of berth rbac alone every kind of claim is bound, and no call is forbidden", {}, (plane) =>
  inLab(plane, "permitted", async (lab) => {
    await grant(plane.exchange, { account, lease: leaseName });
    await until("all is granted", async () => (await check(plane)).code === 0, 20_000);
    const before = auditedCalls(plane.facts.auditLog).length;
    const berth = await startAudited(lab, "permitted-berth", { streamsLists: false });
    expect(await lacking(berth)).toEqual([]);
    await until("Berth is ready", isReady(berth));
    const { asks, binds } = berthEntries(berth.url);
    await lab.scheduler([asks, binds]);
    await lab.given({
      nodes: { n1: null, n2: null },
      drivers: {
        "pool.example.com": { capacity: { n1: "100Gi" }, pollSeconds: 1 },
        "full.example.com": { publishesCapacity: false, capacity: { n1: "1Gi", n2: "100Gi" }, pollSeconds: 1 },
      },
      classes: { local: "wait", pool: "pool.example.com", full: "full.example.com" },
      volumes: { d1: disk("n1"), d2: disk("n2") },
      claims: {
        "shop/disk": claim,
        "shop/pool": { class: "pool", size: "10Gi" },
        "shop/full": { class: "full", size: "10Gi" },
      },
    });
    const template = {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "local",
      resources: { requests: { storage: "5Gi" } },
    };
    const scratch = { name: "scratch", ephemeral: { volumeClaimTemplate: { spec: template } } };
    await lab.given({
      pods: {
        "shop/plain": {},
        "shop/disk": { claims: ["disk"] },
        "shop/pool": { claims: ["pool"] },
        "shop/full": { claims: ["full"], prefers: "n1" },
        "shop/scratch": { volumes: [scratch] },
      },
    });
    for (const pod of ["plain", "disk", "pool", "full", "scratch"]) await lab.placed(`shop/${pod}`, 40_000);
    expect(await audit(lab.stage)).toEqual([]);
    await lookPastTheCache(lab, berth);

    const calls = auditedCalls(plane.facts.auditLog).slice(before);
    expect(calls.filter(({ responseStatus }) => responseStatus?.code === 403)).toEqual([]);
    const used = new Set(calls.map(titleOfCall));
    const listed = new Set([...allRights.map(title), `${ownReview.verb} ${ownReview.resource}.${ownReview.group}`]);
    expect([...used].filter((one) => !listed.has(one))).toEqual([]);
    // Nobody comes to its debug listener with a token.
    const looking = new Set(allRights.filter(({ part }) => part === "debug").map(title));
    expect([...listed].filter((one) => !used.has(one) && !looking.has(one))).toEqual([]);
  }),
);

interface Named {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/** Asks in the place of a kube-scheduler that does not ask again: only so is Berth sure to look, and to wake. */
async function lookPastTheCache({ stage, given }: Lab, { url }: Audited): Promise<void> {
  const names = ["late", "classless", "lost", "astray"];
  await stage.pause();
  await given({
    claims: {
      "ask/late": { class: "local", size: "50Gi" },
      "ask/classless": { class: "no-such-class", size: "1Gi" },
      "ask/lost": { ...claim, volumeName: "no-such-volume" },
      "ask/astray": claim,
    },
  });
  const note = (name: string, annotations: Raw) =>
    stage.patch("PersistentVolumeClaim", "ask", name, { metadata: { annotations } });
  await note("lost", { "pv.kubernetes.io/bind-completed": "yes" });
  await note("astray", { "volume.kubernetes.io/selected-node": "no-such-node" });
  await given({ pods: Object.fromEntries(names.map((name) => [`ask/${name}`, { claims: [name] }])) }, "nobody");
  const podOf = async (name: string) => (await stage.call("GET", `/api/v1/namespaces/ask/pods/${name}`)).body as Raw;
  const asked = async (name: string): Promise<Raw> => {
    const body = JSON.stringify({ Pod: await podOf(name), Nodes: null, NodeNames: ["n1", "n2"] });
    const headers = { "content-type": "application/json" };
    return (await (await fetch(`${url}/filter`, { method: "POST", headers, body })).json()) as Raw;
  };
  for (const name of names) {
    await until(`${name} is refused`, async () => (await asked(name))["Error"] === "");
  }
  // What is said twice makes a series of the event that is there.
  const { name: PodName, namespace: PodNamespace, uid: PodUID } = (await podOf("classless"))["metadata"] as Named;
  const binding = JSON.stringify({ PodName, PodNamespace, PodUID, Node: "n1" });
  for (let times = 0; times < 2; times++) {
    await fetch(`${url}/bind`, { method: "POST", headers: { "content-type": "application/json" }, body: binding });
  }
  // Who says of a volume that it is to be had is the PV controller.
  await stage.resume();
  await given({ volumes: { late: { on: "n1", class: "local", size: "50Gi" } } });
  const conditions = async () =>
    ((await podOf("late"))["status"] as { conditions?: { type: string }[] }).conditions ?? [];
  await until("late is woken", async () =>
    (await conditions()).some(({ type }) => type === "berth.dev/VolumesAvailable"),
  );
}

async function check({ facts }: Reached) {
  const config = join(facts.folder, "audited-check.yaml");
  const debugTls = { certFile: "/not-looked-at.crt", keyFile: "/not-looked-at.key" };
  writeFileSync(config, configurationOf({ leaderElection: { resourceName: leaseName }, debugTls }));
  const argv = ["--kubeconfig", kubeconfigOf(facts), "--config", config, "-o", "json"];
  const { code, stdout, stderr } = await runCommand(checkPermissionsCommand, argv, { runtime });
  expect(stderr).toBe("");
  const rows = JSON.parse(stdout) as { right: string; granted: boolean }[];
  return { code, missing: rows.filter(({ granted }) => !granted).map(({ right }) => right) };
}

onPlane("whichever right is taken away, check-permissions names it, and it alone", {}, async (plane) => {
  for (const right of allRights) {
    await grant(plane.exchange, { account, lease: leaseName, rights: allRights.filter((one) => one !== right) });
    // RBAC sees a change of roles a moment later.
    let found = await check(plane);
    await until(
      `${title(right)} is missing`,
      async () => {
        found = await check(plane);
        return found.missing.length === 1 && found.missing[0] === title(right);
      },
      10_000,
    ).catch(() => {});
    expect(found).toEqual({ code: 1, missing: [title(right)] });
  }
});

const without = (...titles: readonly string[]): readonly Right[] =>
  allRights.filter((one) => !titles.includes(title(one)));

onPlane("a Berth that may not read volumes is not ready, says why, and is ready once it may", {}, (plane) =>
  inLab(plane, "unpermitted", async (lab) => {
    const withheld = ["list persistentvolumes", "watch persistentvolumes"];
    await grant(plane.exchange, { account, lease: leaseName, rights: without(...withheld) });
    await until("they are missing", async () => (await check(plane)).missing.length === 2, 10_000);
    const berth = await startAudited(lab, "unpermitted-berth");
    expect(await lacking(berth)).toEqual(withheld);
    await until(
      "only the volumes are awaited",
      async () => (await berth.readiness()) === "not ready: not synced yet: volume\n",
    );
    const { asks, binds } = berthEntries(berth.url);
    await lab.scheduler([asks, binds]);
    await lab.given({
      nodes: { n1: null },
      classes: { local: "wait" },
      volumes: { d1: disk("n1") },
      claims: { "shop/disk": claim },
      pods: { "shop/plain": {}, "shop/disk": { claims: ["disk"] } },
    });
    await lab.placed("shop/plain");
    await until("the other gets an error", async () => {
      const outcome = await lab.outcome("shop/disk");
      return "reason" in outcome && outcome.reason === "SchedulerError";
    });
    await grant(plane.exchange, { account, lease: leaseName });
    await until("Berth is ready", isReady(berth), 60_000);
    await lab.placed("shop/disk", 30_000);
  }),
);

onPlane("a Berth that may not write volumes is ready, has said so, and its binds say it too", {}, (plane) =>
  inLab(plane, "unwriting", async (lab) => {
    await grant(plane.exchange, { account, lease: leaseName, rights: without("patch persistentvolumes") });
    await until("it is missing", async () => (await check(plane)).missing.length === 1, 10_000);
    const berth = await startAudited(lab, "unwriting-berth");
    expect(await lacking(berth)).toEqual(["patch persistentvolumes"]);
    await until("Berth is ready", isReady(berth));
    const { asks, binds } = berthEntries(berth.url);
    await lab.scheduler([asks, binds]);
    await lab.given({
      nodes: { n1: null },
      classes: { local: "wait" },
      volumes: { d1: disk("n1") },
      claims: { "shop/disk": claim },
      pods: { "shop/disk": { claims: ["disk"] } },
    });
    // The first try may come before kube-scheduler has heard of the claim.
    await until("the error of the bind stands in the Pod", async () => {
      const outcome = await lab.outcome("shop/disk");
      return "message" in outcome && /volume .*d1.* forbidden|forbidden.*persistentvolumes/.test(outcome.message);
    });
    await grant(plane.exchange, { account, lease: leaseName });
    await lab.placed("shop/disk", 30_000);
  }),
);

onPlane("lists may be withheld where they are streamed", {}, (plane) =>
  inLab(plane, "streaming", async (lab) => {
    const lists = allRights.filter(({ part, verb }) => part === "read" && verb === "list").map(title);
    await grant(plane.exchange, { account, lease: leaseName, rights: without(...lists) });
    await until("they are missing", async () => (await check(plane)).missing.length === lists.length, 10_000);
    const berth = await startAudited(lab, "streaming-berth");
    await until("Berth is ready", isReady(berth));
  }),
);
