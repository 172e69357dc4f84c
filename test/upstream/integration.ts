/**
 * VB §8.15: Pods with volumes from their creation to their node, through the whole of Berth, the sandbox's scheduler and its controllers.
 * @see kubernetes test/integration/volumescheduling/volume_binding_test.go
 */
import { describe, expect } from "vitest";
import { sandboxEntries } from "../../src/cli/sandbox-entries.ts";
import { defaults } from "../../src/config.ts";
import { createLog } from "../../src/log.ts";
import type { DriverConfiguration } from "../../src/sandbox/backend.ts";
import type { Kinds, Plural } from "../../src/sandbox/objects.ts";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import { startBerth } from "../../src/server/berth.ts";
import { claim, type Json, node, pod, storageClass, volume } from "../sandbox/world.ts";
import { type VirtualRuntime, virtualRuntime } from "../support/clock.ts";
import { scenario } from "./support.ts";

class Stage {
  readonly runtime: VirtualRuntime = virtualRuntime();
  readonly sandbox: Sandbox;

  constructor(drivers: readonly DriverConfiguration[]) {
    this.sandbox = new Sandbox({ runtime: this.runtime, scheduler: false, drivers });
  }

  /** Two nodes, classes "wait" and "imm", and Berth as both extender entries. */
  static async open(drivers: readonly DriverConfiguration[] = []): Promise<Stage> {
    const stage = new Stage(drivers);
    const { runtime, sandbox } = stage;
    await sandbox.apply([
      node("node1"),
      node("node2"),
      storageClass("wait"),
      storageClass("imm", { mode: "Immediate" }),
    ]);
    const log = createLog({ level: "error", stream: { write: () => {} }, runtime });
    const { exchange } = sandbox.api;
    const berth = await startBerth({ exchange, runtime, config: defaults, log, version: "test" });
    const bindTimeoutMs = defaults.binding.timeoutMs;
    sandbox.startScheduler(sandboxEntries({ urlPrefix: "http://berth/v1", exchange: berth.extender, bindTimeoutMs }));
    return stage;
  }

  /** Applies the objects and lets half a minute pass. */
  async play(...objects: Json[]): Promise<void> {
    await this.sandbox.apply(objects);
    await this.runtime.advance(30_000);
  }

  async list<P extends Plural>(plural: P): Promise<readonly Kinds[P][]> {
    const agent = this.sandbox.startAgent("test");
    const listed = await agent.client.list(plural);
    agent.stop();
    if (!listed.ok) throw new Error(listed.message);
    return listed.value.items;
  }

  /** Node by Pod, or the message of its condition PodScheduled. */
  async pods(): Promise<Record<string, string>> {
    const pods = await this.list("pods");
    return Object.fromEntries(
      pods.map(({ metadata: { name }, spec, status }) => {
        const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
        return [name, spec.nodeName ?? scheduled?.message ?? ""];
      }),
    );
  }

  /** Volume by bound claim, which both objects agree on; "Pending" for others. */
  async claims(): Promise<Record<string, string>> {
    const volumes = new Map((await this.list("persistentvolumes")).map((one) => [one.metadata.name, one]));
    const claims = await this.list("persistentvolumeclaims");
    return Object.fromEntries(
      claims.map(({ metadata, spec, status }) => {
        const name = spec.volumeName ?? "";
        if (status?.phase !== "Bound") return [metadata.name, status?.phase ?? ""];
        const bound = volumes.get(name);
        expect(bound?.spec.claimRef?.uid).toBe(metadata.uid);
        expect(bound?.status?.phase).toBe("Bound");
        return [metadata.name, name];
      }),
    );
  }

  async phases(): Promise<Record<string, string>> {
    const volumes = await this.list("persistentvolumes");
    return Object.fromEntries(volumes.map(({ metadata, status }) => [metadata.name, status?.phase ?? ""]));
  }
}

function played(
  number: number,
  name: string,
  play: (stage: Stage) => Promise<void>,
  drivers?: readonly DriverConfiguration[],
): void {
  scenario(number, "binder", name, async () => {
    const stage = await Stage.open(drivers);
    try {
      await play(stage);
    } finally {
      stage.sandbox.stop();
    }
  });
}

const pv = (name: string, on: string, o: Json = {}): Json => volume(name, { on, capacity: "5Gi", ...o });
const noHelp =
  " no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
const noVolumes = `0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.${noHelp}`;
const dynamic = storageClass("csi", { provisioner: "csi.example" });
const driver: DriverConfiguration = { name: "csi.example", capacity: { node1: "20Gi", node2: "20Gi" } };
const reservedFor = (name: string): Json => ({ spec: { claimRef: { namespace: "default", name } } });

describe("VB 8.15: from Pod to node", () => {
  played(165, "a claim that waits for its Pod is bound with it", async (stage) => {
    await stage.play(pv("pv1", "node1"), claim("x"));
    expect(await stage.claims()).toEqual({ x: "Pending" });
    await stage.play(pod("p", { claims: ["x"] }));
    expect(await stage.pods()).toEqual({ p: "node1" });
    expect(await stage.claims()).toEqual({ x: "pv1" });
  });
  played(166, "a volume reserved by its user, and a claim that names its volume", async (stage) => {
    await stage.play(pv("pv1", "node1", reservedFor("x")), pv("pv2", "node2"));
    await stage.play(claim("x"), claim("y", { spec: { volumeName: "pv2" } }));
    await stage.play(pod("p", { claims: ["x"] }), pod("q", { claims: ["y"] }));
    expect(await stage.pods()).toEqual({ p: "node1", q: "node2" });
    expect(await stage.claims()).toEqual({ x: "pv1", y: "pv2" });
  });
  played(167, "two claims go where both volumes are; the spare volume stays", async (stage) => {
    await stage.play(pv("spare", "node1"), pv("pv1", "node2"), pv("pv2", "node2"), claim("x"), claim("y"));
    await stage.play(pod("p", { claims: ["x", "y"] }));
    expect(await stage.pods()).toEqual({ p: "node2" });
    expect(await stage.claims()).toEqual({ x: "pv1", y: "pv2" });
    expect(await stage.phases()).toEqual({ spare: "Available", pv1: "Bound", pv2: "Bound" });
  });
  played(168, "two claims and one volume a node: refused, and nothing is bound", async (stage) => {
    await stage.play(pv("pv1", "node1"), pv("pv2", "node2"), claim("x"), claim("y"), pod("p", { claims: ["x", "y"] }));
    expect(await stage.pods()).toEqual({ p: noVolumes });
    expect(await stage.claims()).toEqual({ x: "Pending", y: "Pending" });
    expect(await stage.phases()).toEqual({ pv1: "Available", pv2: "Available" });
  });
  played(169, "a delayed and an immediate claim in one Pod", async (stage) => {
    await stage.play(pv("pv1", "node1"), pv("pv2", "node2"), pv("now", "node1", { class: "imm" }));
    await stage.play(claim("x"), claim("y", { class: "imm" }));
    await stage.play(pod("p", { claims: ["x", "y"] }));
    expect(await stage.pods()).toEqual({ p: "node1" });
    expect(await stage.claims()).toEqual({ x: "pv1", y: "now" });
  });
  played(
    170,
    "a Pod waits for its claim, its class or its volume, and is placed when that comes",
    async (stage) => {
      await stage.play(pod("p", { claims: ["x"] }), pod("q", { claims: ["y"] }));
      expect(await stage.claims()).toEqual({});
      await stage.play(claim("x", { class: "late" }), claim("y", { class: "csi" }));
      // In VolumeZone's words: it looks before any extender (VB §1.6).
      const noClass = (name: string): string =>
        `0/2 nodes are available: storageclass.storage.k8s.io "${name}" not found.${noHelp}`;
      expect(await stage.pods()).toEqual({ p: noClass("late"), q: noClass("csi") });
      await stage.play(storageClass("late"), dynamic);
      expect(await stage.pods()).toMatchObject({ p: noVolumes, q: expect.stringMatching(/^node[12]$/) });
      await stage.play(pv("pv1", "node2", { class: "late" }));
      expect(await stage.pods()).toMatchObject({ p: "node2" });
      expect(await stage.claims()).toMatchObject({ x: "pv1", y: expect.stringMatching(/^pvc-/) });
    },
    [driver],
  );
  played(
    171,
    "static and dynamic claims in one Pod",
    async (stage) => {
      await stage.play(dynamic, pv("pv1", "node2"), claim("x"), claim("y", { class: "csi" }));
      await stage.play(pod("p", { claims: ["x", "y"] }));
      expect(await stage.pods()).toEqual({ p: "node2" });
      expect(await stage.claims()).toEqual({ x: "pv1", y: expect.stringMatching(/^pvc-/) });
    },
    [driver],
  );
  played(
    172,
    "an immediate claim on its reserved volume, and a dynamic one",
    async (stage) => {
      await stage.play(dynamic, pv("now", "node1", { class: "imm", ...reservedFor("x") }));
      await stage.play(claim("x", { class: "imm" }), claim("y", { class: "csi" }), pod("p", { claims: ["x", "y"] }));
      expect(await stage.pods()).toEqual({ p: "node1" });
      expect(await stage.claims()).toEqual({ x: "now", y: expect.stringMatching(/^pvc-/) });
    },
    [driver],
  );
  played(173, "fifty Pods of three claims: all are placed, each volume serves one claim", async (stage) => {
    const names = Array.from({ length: 50 }, (_, index) => `p${index}`);
    const claims = names.flatMap((name) => ["a", "b", "c"].map((letter) => `${name}-${letter}`));
    await stage.sandbox.apply(claims.map((name, index) => pv(`pv-${name}`, index % 2 === 0 ? "node1" : "node2")));
    // Two spare volumes a node: 150 claims in threes need an even number of threes on neither node.
    await stage.sandbox.apply(["node1", "node2"].flatMap((on) => [pv(`spare-${on}-1`, on), pv(`spare-${on}-2`, on)]));
    await stage.sandbox.apply(claims.map((name) => claim(name)));
    await stage.play(
      ...names.map((name) => pod(name, { claims: ["a", "b", "c"].map((letter) => `${name}-${letter}`) })),
    );
    const placed = Object.values(await stage.pods());
    expect(placed.filter((one) => one !== "node1" && one !== "node2")).toEqual([]);
    expect(placed).toHaveLength(50);
    const bound = Object.values(await stage.claims());
    expect(bound.filter((name) => !/^(pv-|spare-)/.test(name))).toEqual([]);
    expect(new Set(bound).size).toBe(150);
  });
  played(174, "anti-affinity among ten Pods: one a node, though all nodes have volumes", async (stage) => {
    const nodes = Array.from({ length: 10 }, (_, index) => `n${index}`);
    const away = {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "db" } } },
      ],
    };
    await stage.sandbox.apply(nodes.map((name) => node(name)));
    await stage.sandbox.apply(nodes.flatMap((on) => [0, 1, 2].map((disk) => pv(`${on}-${disk}`, on))));
    await stage.sandbox.apply(nodes.map((name) => claim(`c-${name}`)));
    await stage.play(
      ...nodes.map((name) =>
        pod(`p-${name}`, {
          claims: [`c-${name}`],
          labels: { app: "db" },
          spec: { affinity: { podAntiAffinity: away } },
        }),
      ),
    );
    expect(Object.values(await stage.pods()).sort()).toEqual(nodes);
    expect(new Set(Object.values(await stage.claims())).size).toBe(10);
  });
  played(175, "a bound volume on one node and a Pod forced to another", async (stage) => {
    await stage.play(pv("now", "node1", { class: "imm" }), claim("x", { class: "imm" }));
    const forced = { nodeSelector: { "kubernetes.io/hostname": "node2" } };
    await stage.play(pod("p", { claims: ["x"], spec: forced }));
    expect(await stage.pods()).toEqual({
      p: `0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 1 node(s) didn't match Pod's node affinity/selector.${noHelp}`,
    });
  });
  played(
    176,
    "capacity: too little is refused and the claim stays, enough is bound; a driver that publishes none is not asked",
    async (stage) => {
      await stage.play(dynamic, storageClass("open", { provisioner: "open.example" }));
      await stage.play(claim("big", { class: "csi", size: "30Gi" }), claim("fits", { class: "csi", size: "6Gi" }));
      await stage.play(claim("any", { class: "open", size: "30Gi" }));
      await stage.play(...["big", "fits", "any"].map((name) => pod(`p-${name}`, { claims: [name] })));
      const pods = await stage.pods();
      expect(pods["p-big"]).toBe(`0/2 nodes are available: 2 node(s) did not have enough free storage.${noHelp}`);
      expect([pods["p-fits"], pods["p-any"]]).toEqual([
        expect.stringMatching(/^node[12]$/),
        expect.stringMatching(/^node[12]$/),
      ]);
      expect(await stage.claims()).toEqual({
        big: "Pending",
        fits: expect.stringMatching(/^pvc-/),
        any: expect.stringMatching(/^pvc-/),
      });
    },
    [
      { name: "csi.example", capacity: { node1: "20Gi", node2: "20Gi" } },
      { name: "open.example", capacity: { node1: "50Gi", node2: "50Gi" }, publishesCapacity: false },
    ],
  );
  const failures: string[] = [];
  played(
    177,
    "provisioning fails on one node: the provisioner takes selected-node off, and the Pod goes to the other",
    async (stage) => {
      failures.length = 0;
      await stage.play(dynamic, claim("x", { class: "csi" }), pod("p", { claims: ["x"] }));
      // Both nodes are as good for the scheduler, so it may try the full one again before it tries the other.
      await stage.runtime.advance(90_000);
      const [failed] = failures;
      const placed = (await stage.pods())["p"];
      expect(new Set(failures)).toEqual(new Set([failed]));
      expect(placed).toBe(failed === "node1" ? "node2" : "node1");
      expect(await stage.claims()).toEqual({ x: expect.stringMatching(/^pvc-/) });
      const [bound] = await stage.list("persistentvolumeclaims");
      expect(bound?.metadata.annotations?.["volume.kubernetes.io/selected-node"]).toBe(placed);
    },
    [
      {
        ...driver,
        // Whichever node is tried first is full, although it has said otherwise.
        onCreate: ({ segment }) => {
          if (failures.length > 0 && failures[0] !== segment) return undefined;
          failures.push(segment);
          return { code: "ResourceExhausted" };
        },
      },
    ],
  );
});
