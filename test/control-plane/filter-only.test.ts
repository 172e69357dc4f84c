/**
 * The filter-only deployment: kube-scheduler's own VolumeBinding stays on and binds, Berth is one entry that filters, scores and looks
 * after preemption. kube-scheduler runs as its own user, with the roles that Kubernetes gives it. docs/limits.md quotes these tests.
 */
import { expect } from "vitest";
import { audit } from "../support/auditor.ts";
import type { Raw } from "../support/make.ts";
import { inLab, type Lab } from "./lab.ts";
import { noVolumes, unschedulable, vain } from "./messages.ts";
import { onPlane } from "./on-plane.ts";
import { until } from "./reach.ts";

function filterOnly(name: string, run: (lab: Lab) => Promise<void>): void {
  onPlane(name, {}, (plane) =>
    inLab(plane, "filter-only", async (lab) => {
      await run(lab);
      await nothingPromised(lab);
      expect(await audit(lab.stage)).toEqual([]);
    }),
  );
}

const beside = (lab: Lab, entries: readonly Raw[] = [lab.berth.asks], schedulerName = "filter-only") =>
  lab.scheduler(entries, { schedulerName, volumeBinding: "on", user: "system:kube-scheduler" });

const disk = (on: string, size = "10Gi", more: Raw = {}) => ({ on, class: "local", size, ...more });
const claim = (size = "10Gi", more: Raw = {}) => ({ class: "local", size, ...more });

interface Promised {
  readonly assumptions: { readonly count: number };
  readonly holds: { readonly count: number };
}

/** Nobody calls bind, so nothing may be left that only a bind would end. */
async function nothingPromised({ facts }: Lab): Promise<void> {
  await until("Berth holds nothing any more", async () => {
    const state = (await (await fetch(`${facts.debugUrl}/debug/state`)).json()) as Promised;
    return state.assumptions.count + state.holds.count === 0;
  });
}

filterOnly("with VolumeBinding on, Berth and it agree on where a Pod may go", async (lab) => {
  await lab.given({
    nodes: { n1: null, n2: null, n3: null },
    drivers: { "pool.example.com": { capacity: { n1: "10Gi" }, pollSeconds: 1 } },
    classes: { local: "wait", pool: "pool.example.com" },
    volumes: {
      single: disk("n1"),
      "pair-a": disk("n2", "20Gi"),
      "pair-b": disk("n2", "20Gi"),
      kept: disk("n3", "80Gi", { claimRef: { namespace: "shop", name: "kept" } }),
      shared: disk("n3", "40Gi"),
    },
    claims: {
      "shop/single": claim(),
      "shop/pair-a": claim("15Gi"),
      "shop/pair-b": claim("15Gi"),
      "shop/kept": claim(),
      "shop/shared": claim("35Gi"),
      "shop/made": { class: "pool", size: "5Gi" },
      "shop/large": { class: "pool", size: "50Gi" },
    },
  });
  await until("what is free is published", async () => (await lab.stage.list("CSIStorageCapacity")).length > 0);
  await beside(lab);
  const pods: Record<string, { claims: string[]; on: string }> = {
    pair: { claims: ["pair-a", "pair-b"], on: "n2" },
    kept: { claims: ["kept"], on: "n3" },
    reader: { claims: ["shared"], on: "n3" },
    writer: { claims: ["shared"], on: "n3" },
    made: { claims: ["made"], on: "n1" },
    plain: { claims: [], on: "" },
    single: { claims: ["single"], on: "n1" },
  };
  for (const [name, { claims }] of Object.entries(pods)) {
    await lab.given({ pods: { [`shop/${name}`]: { claims } } });
    const node = await lab.placed(`shop/${name}`);
    expect(node, name).toEqual(pods[name]?.on || expect.any(String));
  }
  expect(await lab.claims()).toMatchObject({
    "shop/single": "single",
    "shop/pair-a": expect.stringMatching(/^pair-[ab]$/),
    "shop/pair-b": expect.stringMatching(/^pair-[ab]$/),
    "shop/kept": "kept",
    "shop/shared": "shared",
    "shop/made": expect.stringMatching(/^pvc-/),
  });
  await lab.given({ pods: { "shop/large": { claims: ["large"] } } });
  const space = "node(s) did not have enough free storage";
  expect(await lab.outcome("shop/large")).toEqual(unschedulable(lab, 3, `3 ${space}`, `3 ${vain}`));
});

filterOnly(
  "where VolumeBinding takes other volumes than Berth planned, what Berth planned is soon free",
  async (lab) => {
    const fast = { labels: { media: "fast" } };
    const volumes = { plain: disk("n1", "10Gi"), small: disk("n1", "8Gi", fast), large: disk("n1", "20Gi", fast) };
    await lab.given({ nodes: { n1: null }, classes: { local: "wait" }, volumes });
    const selector = { matchLabels: { media: "fast" } };
    await lab.given({
      claims: { "shop/any": claim("5Gi"), "shop/fast": claim("8Gi", { selector }), "shop/next": claim("9Gi") },
    });
    await beside(lab);
    await lab.given({ pods: { "shop/web": { claims: ["any", "fast"] } } });
    expect(await lab.placed("shop/web")).toBe("n1");
    // The smallest volume goes to the smallest claim, though the other one has no use for what is left.
    expect(await lab.claims()).toMatchObject({ "shop/any": "small", "shop/fast": "large" });

    await lab.given({ pods: { "shop/next": { claims: ["next"] } } });
    expect(await lab.placed("shop/next")).toBe("n1");
    expect(await lab.claims()).toMatchObject({ "shop/next": "plain" });
  },
);

filterOnly("a burst of Pods takes every disk and every gigabyte, and strands nobody", async (lab) => {
  const nodes = ["n1", "n2", "n3"];
  const pods = Array.from({ length: 12 }, (_, index) => `p${index}`);
  const makers = Array.from({ length: 9 }, (_, index) => `m${index}`);
  await lab.given({
    nodes: Object.fromEntries(nodes.map((node) => [node, null])),
    drivers: {
      "pool.example.com": { capacity: Object.fromEntries(nodes.map((node) => [node, "9Gi"])), pollSeconds: 1 },
    },
    classes: { local: "wait", pool: "pool.example.com" },
    volumes: Object.fromEntries(pods.flatMap((_, i) => [0, 1].map((j) => [`d${i}-${j}`, disk(nodes[i % 3] ?? "")]))),
    claims: Object.fromEntries([
      ...pods.flatMap((pod) => ["a", "b"].map((of) => [`shop/${pod}-${of}`, claim()] as const)),
      ...makers.map((pod) => [`shop/${pod}`, { class: "pool", size: "3Gi" }] as const),
    ]),
  });
  await until("what is free is published", async () => (await lab.stage.list("CSIStorageCapacity")).length === 3);
  await beside(lab);
  await lab.given({
    pods: Object.fromEntries([
      ...pods.map((pod) => [`shop/${pod}`, { claims: [`${pod}-a`, `${pod}-b`] }] as const),
      ...makers.map((pod) => [`shop/${pod}`, { claims: [pod] }] as const),
    ]),
  });
  for (const pod of [...pods, ...makers]) await lab.placed(`shop/${pod}`, 60_000);
});

filterOnly(
  "a Berth that hears of volumes late refuses what VolumeBinding lets pass, and wakes the Pod",
  async (lab) => {
    const late = await lab.lateBerth(300);
    const names = ["p0", "p1", "p2", "p3"];
    const keyed = <T>(of: (name: string) => T) => Object.fromEntries(names.map((name) => [`shop/${name}`, of(name)]));
    await lab.given({
      nodes: { n1: null },
      classes: Object.fromEntries(names.map((name) => [name, "wait"])),
      claims: keyed((name) => ({ class: name, size: "10Gi" })),
    });
    await lab.stage.pass(1_000);
    await beside(lab, [{ ...lab.berth.asks, urlPrefix: late.extenderUrl }]);
    await lab.given({ pods: keyed((name) => ({ claims: [name] })) });
    for (const name of names) {
      expect(await lab.outcome(`shop/${name}`)).toEqual(unschedulable(lab, 1, `1 ${noVolumes}`, `1 ${vain}`));
    }
    await lab.given({
      volumes: Object.fromEntries(names.map((name) => [name, { on: "n1", class: name, size: "10Gi" }])),
    });
    for (const name of names) expect(await lab.placed(`shop/${name}`, 30_000)).toBe("n1");
  },
);

filterOnly(
  "a node that only the exact assignment fits is refused by VolumeBinding before Berth is asked",
  async (lab) => {
    const fast = { labels: { media: "fast" } };
    await lab.given({
      nodes: { n1: null },
      classes: { local: "wait" },
      volumes: { plain: disk("n1", "20Gi"), fast: disk("n1", "10Gi", fast) },
      claims: {
        "shop/any": claim("5Gi"),
        "shop/fast": claim("8Gi", { selector: { matchLabels: { media: "fast" } } }),
      },
    });
    await beside(lab);
    await lab.given({ pods: { "shop/web": { claims: ["any", "fast"] } } });
    expect(await lab.outcome("shop/web")).toEqual(unschedulable(lab, 1, `1 ${noVolumes}`, `1 ${vain}`));
    const page = await fetch(`${lab.facts.debugUrl}/debug/explain/shop/web`, { headers: { accept: "text/plain" } });
    expect(await page.text()).toMatch(/^Pod shop\/web: 1 of 1 nodes fit$/m);
    // A volume more, and both agree.
    await lab.given({ volumes: { more: disk("n1", "10Gi", fast) } });
    expect(await lab.placed("shop/web")).toBe("n1");
  },
);

filterOnly(
  "a node on which nobody provisions is refused, where VolumeBinding alone would wait in vain",
  async (lab) => {
    const by = "hand.example.com";
    const kept = { on: "n2", class: "hand", size: "10Gi" };
    await lab.given({
      nodes: { n1: null, n2: null },
      classes: { hand: by },
      volumes: { "disk-1": kept, "disk-2": kept },
      claims: { "shop/with": { class: "hand", size: "5Gi" }, "shop/without": { class: "hand", size: "5Gi" } },
    });
    await lab.stage.patch("Node", undefined, "n2", { spec: { unschedulable: true } });
    await beside(lab);
    await beside(lab, [], "filter-none");
    await lab.given({ pods: { "shop/without": { claims: ["without"] } } }, "filter-none");
    await until(
      "the claim is sent to the node without the disk",
      async () => (await selectedNode(lab, "without")) === "n1",
    );
    await lab.given({ pods: { "shop/with": { claims: ["with"] } } });
    const reasons = `1 ${noVolumes}, 1 node(s) were unschedulable`;
    expect(await lab.outcome("shop/with")).toEqual(unschedulable(lab, 2, reasons, `2 ${vain}`));
    await lab.stage.patch("Node", undefined, "n2", { spec: { unschedulable: false } });
    expect(await lab.placed("shop/with")).toBe("n2");
    expect(await lab.claims()).toEqual({ "shop/with": expect.stringMatching(/^disk-[12]$/), "shop/without": "" });
  },
);

async function selectedNode({ stage }: Lab, claim: string): Promise<string | undefined> {
  const claims = (await stage.list("PersistentVolumeClaim")) as unknown as {
    metadata: { name: string; annotations?: Record<string, string> };
  }[];
  return claims.find(({ metadata }) => metadata.name === claim)?.metadata.annotations?.[
    "volume.kubernetes.io/selected-node"
  ];
}
