/** VB §8.6 to §8.8: which volume suits which claim. @see component-helpers storage/volume/pv_helpers_test.go, pv_controller's index_test.go */
import { describe, expect } from "vitest";
import type { ClaimFacts, Raw, VolumeFacts } from "../support/make.ts";
import { makeClass, makeNode, makePV, makePVC } from "../support/make.ts";
import { World } from "../support/world.ts";
import { ask, expectDeparture, type NodeAnswer, scenario, texts } from "./support.ts";

const rwo = "ReadWriteOnce";
const rox = "ReadOnlyMany";
const rwx = "ReadWriteMany";

/** The answer for a Pod with this one claim, on the one node there is. */
function askOne(world: World, claim = "c"): NodeAnswer | undefined {
  return ask(world, world.pod("p", claim))["n"];
}

describe("VB 8.6: FindMatchingVolume", () => {
  const on = (value: string): VolumeFacts => ({
    terms: [{ matchExpressions: [{ key: "key1", operator: "In", values: [value] }] }],
  });
  const modes = [rwo, rox];
  const facts: Record<string, VolumeFacts> = {
    small: { capacity: "5G", class: "" },
    large: { capacity: "200E", class: "large" },
    a1: { capacity: "100G", ...on("value1") },
    a2: { capacity: "150G", ...on("value1") },
    pre: { capacity: "100G", claim: "claim02", ...on("value1") },
    a3: { capacity: "200G", ...on("value3") },
    a4: { capacity: "200G", phase: "", ...on("value4") },
  };
  const volumes = (extra: VolumeFacts = {}): Raw[] =>
    Object.entries(facts).map(([name, own]) => makePV(name, { modes, ...own, class: own.class ?? "wait", ...extra }));
  const claim = (name: string, extra: ClaimFacts = {}): Raw =>
    makePVC(name, { request: "100G", class: "wait", ...extra });
  const worldOn = (value: string, ...objects: Raw[]): World =>
    new World().add(makeClass("wait"), makeNode("n", { key1: value }), ...objects);

  scenario(56, "core", "the smallest that suits", () => {
    expect(askOne(worldOn("value1", ...volumes(), claim("claim01")), "claim01")).toEqual(["claim01=a1"]);
  });
  scenario(57, "core", "the one reserved for the claim goes before", () => {
    expect(askOne(worldOn("value1", ...volumes(), claim("claim02")), "claim02")).toEqual(["claim02=pre"]);
  });
  scenario(58, "core", "one that a sibling claim takes is left out; so is one assumed for another Pod", () => {
    const world = worldOn("value1", ...volumes(), claim("claim01"), claim("claim05"));
    expect(ask(world, world.pod("p", "claim01", "claim05"))).toEqual({ n: ["claim01=a1", "claim05=a2"] });
    const other = world.pod("q", "claim05");
    world.state.reservations.assume(other.uid, world.plan(other, "n"));
    expect(askOne(world, "claim01")).toEqual(["claim01=a2"]);
  });
  scenario(59, "core", "with both left out nothing suits", () => {
    const world = worldOn("value1", ...volumes(), claim("claim01"), claim("claim05"), claim("claim06"));
    expect(ask(world, world.pod("p", "claim01", "claim05", "claim06"))).toEqual({ n: texts.bind });
    const other = world.pod("q", "claim05", "claim06");
    world.state.reservations.assume(other.uid, world.plan(other, "n"));
    expect(askOne(world, "claim01")).toBe(texts.bind);
    expect(world.reasons(world.pod("p", "claim01"), "n")).toEqual(["volumeAssumed"]);
  });
  scenario(60, "core", "an access mode that no volume lists", () => {
    expect(askOne(worldOn("value1", ...volumes(), claim("claim01", { modes: [rwx] })), "claim01")).toBe(texts.bind);
  });
  scenario(61, "core", "a node that no volume reaches", () => {
    expect(askOne(worldOn("value2", ...volumes(), claim("claim01")), "claim01")).toBe(texts.bind);
  });
  scenario(62, "core", "the claim's own volume elsewhere wins over a free one here", () => {
    const world = worldOn("value3", ...volumes(), claim("claim02"));
    expect(askOne(world, "claim02")).toBe(texts.bind);
    expect(world.reasons(world.pod("p", "claim02"), "n")).toEqual(["preboundElsewhere"]);
  });
  scenario(63, "core", "a volume without a phase is not available", () => {
    expect(askOne(worldOn("value4", ...volumes(), claim("claim04")), "claim04")).toBe(texts.bind);
  });
  scenario(64, "core", "a larger one where it is the only one", () => {
    expect(askOne(worldOn("value3", ...volumes(), claim("claim03")), "claim03")).toEqual(["claim03=a3"]);
  });
  scenario(65, "core", "equal attributes classes", () => {
    const world = worldOn("value1", ...volumes({ attributesClass: "gold" }));
    world.add(claim("claim01", { attributesClass: "gold" }));
    expect(askOne(world, "claim01")).toEqual(["claim01=a1"]);
  });
  scenario(66, "core", "a claim that asks for an attributes class where no volume has one", () => {
    expect(askOne(worldOn("value1", ...volumes(), claim("claim01", { attributesClass: "silver" })), "claim01")).toBe(
      texts.bind,
    );
  });
  scenario(67, "core", "another attributes class is out, reserved or not", () => {
    const world = worldOn("value1", ...volumes({ attributesClass: "gold" }));
    world.add(claim("claim02", { attributesClass: "silver" }));
    expect(askOne(world, "claim02")).toBe(texts.bind);
  });
  scenario(68, "core", "an empty attributes class is none", () => {
    const none = worldOn("value1", ...volumes(), claim("claim01", { attributesClass: "" }));
    expect(askOne(none, "claim01")).toEqual(["claim01=a1"]);
    const empty = worldOn("value1", ...volumes({ attributesClass: "" }), claim("claim01"));
    expect(askOne(empty, "claim01")).toEqual(["claim01=a1"]);
  });
});

describe("VB 8.7: size, modes and class", () => {
  /** One claim "c" among volumes that every node reaches. */
  const among = (volumes: Record<string, VolumeFacts>, claim: ClaimFacts): NodeAnswer | undefined => {
    const world = new World().add(makeClass("large"), makeClass("silver"), makeNode("n"), makePVC("c", claim));
    for (const [name, facts] of Object.entries(volumes)) world.add(makePV(name, facts));
    return askOne(world);
  };
  const bound = { claim: "other", claimUid: "uother" };
  const modes = [rwo, rox];
  const sizes = {
    gce1: { capacity: "1G", modes, ...bound },
    gce5: { capacity: "5G", modes },
    gce10: { capacity: "10G", modes },
    gce20: { capacity: "20G", modes, ...bound },
  };

  scenario(69, "core", "the closest size above, among the free ones", () => {
    expect(among(sizes, { request: "8G", modes })).toEqual(["c=gce10"]);
  });
  scenario(70, "core", "a bound volume is skipped", () => {
    expect(among(sizes, { request: "1G", modes })).toEqual(["c=gce5"]);
  });
  scenario(71, "core", "more than any volume has", () => {
    expect(among(sizes, { request: "999G", modes })).toBe(texts.bind);
  });
  scenario(72, "core", "a selector for a label that no volume carries", () => {
    const selector = { matchLabels: { "should-not-exist": "true" } };
    expect(among(sizes, { request: "1G", modes, selector })).toBe(texts.bind);
  });
  scenario(73, "core", "the selector and every mode must match on one volume", () => {
    const selector = { matchLabels: { "should-exist": "true" } };
    const volumes = {
      ...sizes,
      labelled: { capacity: "20000G", modes: [rwo], labels: { "should-exist": "true" } },
      unlabelled: { capacity: "20000G", modes },
    };
    expect(among(volumes, { request: "20000G", modes, selector })).toBe(texts.bind);
    expect(among(volumes, { request: "20000G", modes: [rwo], selector })).toEqual(["c=labelled"]);
  });
  scenario(74, "core", "the selector may ask for far more than the size does", () => {
    const volumes = {
      small: { capacity: "100G", class: "silver" },
      labelled: { capacity: "10000G", class: "silver", labels: { "should-exist": "true" } },
      plain: { capacity: "1G" },
    };
    const selector = { matchLabels: { "should-exist": "true" } };
    expect(among(volumes, { request: "1G", class: "silver", selector })).toEqual(["c=labelled"]);
    expect(among(volumes, { request: "1G", class: "silver" })).toEqual(["c=small"]);
  });
  scenario(75, "core", "sizes beyond 64 bits are compared exactly", () => {
    const volumes = { e200: { capacity: "200E", class: "large" }, e800: { capacity: "800E", class: "large" } };
    expect(among(volumes, { request: "1E", class: "large" })).toEqual(["c=e200"]);
    expect(among(volumes, { request: "800E", class: "large" })).toEqual(["c=e800"]);
    expect(among(volumes, { request: "950E", class: "large" })).toBe(texts.bind);
    expect(among(volumes, { request: "800000000000000000001", class: "large" })).toBe(texts.bind);
  });
  scenario(76, "core", "the attributes class parts volumes of one class", () => {
    const volumes = { plain: { capacity: "10G" }, gold: { capacity: "20G", attributesClass: "gold" } };
    expect(among(volumes, { request: "1G", attributesClass: "gold" })).toEqual(["c=gold"]);
    expect(among(volumes, { request: "1G", attributesClass: "unknown" })).toBe(texts.bind);
    expect(among(volumes, { request: "1G", attributesClass: "" })).toEqual(["c=plain"]);
  });
  scenario(
    77,
    "core",
    "fewest modes first is the PV controller's rule; the scheduler's, and ours, is the smallest",
    () => {
      const volumes = {
        exact: { capacity: "10G", modes: [rwo] },
        wide: { capacity: "9G", modes: [rwo, rox] },
        widest: { capacity: "8G", modes: [rwo, rox, rwx] },
      };
      // Immediate binding takes exact, then wide, then widest; with delayed binding sizes decide among what suits.
      expect(among(volumes, { request: "1G", modes: [rwo] })).toEqual(["c=widest"]);
      expect(among(volumes, { request: "9G", modes: [rwo] })).toEqual(["c=wide"]);
      expect(among(volumes, { request: "10G", modes: [rwo, rox] })).toBe(texts.bind);
      expect(among(volumes, { request: "1G", modes: [rwx] })).toEqual(["c=widest"]);
      const taken = { ...volumes, widest: { ...volumes.widest, ...bound } };
      expect(among(taken, { request: "1G", modes: [rwo, rox] })).toEqual(["c=wide"]);
    },
  );
  scenario(78, "core", "volumeMode: unset is Filesystem, on either side", () => {
    const suits = (volume: string | undefined, claim: string | undefined): boolean => {
      const answer = among(
        { v: { ...(volume !== undefined && { volumeMode: volume }) } },
        { ...(claim !== undefined && { volumeMode: claim }) },
      );
      expect(answer).toEqual(Array.isArray(answer) ? ["c=v"] : texts.bind);
      return Array.isArray(answer);
    };
    const modes = ["Block", "Filesystem", undefined] as const;
    expect(modes.map((volume) => modes.map((claim) => suits(volume, claim)))).toEqual([
      [true, false, false],
      [false, true, true],
      [false, true, true],
    ]);
  });
  scenario(79, "core", "a volume that is being deleted is never taken", () => {
    expect(among({ v: { deleting: true } }, {})).toBe(texts.bind);
    expect(among({ v: { deleting: true, claim: "c" } }, {})).toBe(texts.bind);
    expect(among({ v: { deleting: true, capacity: "6Gi" }, w: { capacity: "7Gi" } }, {})).toEqual(["c=w"]);
  });
  scenario(
    80,
    "departure",
    "D14: reserved volumes of several sizes; one that lacks an access mode is no reservation",
    () => {
      const free = { pv1: { capacity: "1Gi" }, pv5: { capacity: "5Gi" }, pv8: { capacity: "8Gi" } };
      const reserved = { claim: "c" };
      const claim = { request: "1Gi" };
      expect(among(free, claim)).toEqual(["c=pv1"]);
      expect(among({ ...free, pv1: { ...free.pv1, claim: "other" } }, claim)).toEqual(["c=pv5"]);
      expect(among({ ...free, pv8: { ...free.pv8, ...reserved } }, claim)).toEqual(["c=pv8"]);
      expect(among({ ...free, bad: { capacity: "1Mi", ...reserved } }, claim)).toEqual(["c=pv1"]);
      // Upstream's PV controller ignores it as we do; upstream's scheduler takes it without a look at its modes.
      const berth = among({ ...free, bad: { capacity: "1Gi", modes: [rox], ...reserved } }, claim);
      expectDeparture({ upstream: ["c=bad"], berth, want: ["c=pv1"] });
    },
  );
  scenario(81, "core", "a claim that waits for its Pod gets nothing before a node is asked about", () => {
    const world = new World().add(makeNode("n"), makePV("v"), makePVC("c"));
    expect(ask(world, world.pod("p", "c"), [])).toEqual({});
    expect(world.state.reservations.dump()).toEqual({ holds: [], assumptions: [] });
    expect(askOne(world)).toEqual(["c=v"]);
  });
  scenario(82, "core", "every mode asked for is listed; none implies another", () => {
    const suits = (...modes: string[]): NodeAnswer | undefined => among({ v: { modes: [rwo, rwx] } }, { modes });
    expect(suits(rwx)).toEqual(["c=v"]);
    expect(suits(rwx, rwo)).toEqual(["c=v"]);
    expect(suits(rox)).toBe(texts.bind);
    expect(suits(rwx, rox)).toBe(texts.bind);
    expect(among({ v: { modes: [rwx] } }, { modes: [rwo] })).toBe(texts.bind);
    expect(among({ v: { modes: [rwo] } }, { modes: ["ReadWriteOncePod"] })).toBe(texts.bind);
  });
});

describe("VB 8.8: node affinity, on a node labelled k1=v1 and k2=v2", () => {
  const isIn = (key: string, ...values: string[]) => ({ key, operator: "In", values });
  const term = (...matchExpressions: ReturnType<typeof isIn>[]) => ({ matchExpressions });
  const required = (...terms: object[]): VolumeFacts => ({ affinity: { required: { nodeSelectorTerms: terms } } });

  /** Asked twice: of a free volume for a claim, and of a bound one. */
  const table = (number: number, name: string, facts: VolumeFacts, reached: boolean): void =>
    scenario(number, "core", name, () => {
      const node = makeNode("n", { k1: "v1", k2: "v2" });
      const free = new World().add(node, makePV("v", facts), makePVC("c"));
      expect(askOne(free)).toEqual(reached ? ["c=v"] : texts.bind);
      const bound = new World().add(
        node,
        makePV("v", { ...facts, claim: "c", claimUid: "uc" }),
        makePVC("c", { volume: "v" }),
      );
      expect(askOne(bound)).toEqual(reached ? ["c==v"] : texts.node);
    });

  table(83, "no affinity matches every node", {}, true);
  table(84, "affinity that requires nothing matches every node", { affinity: {} }, true);
  table(85, "required without terms matches none", { affinity: { required: {} } }, false);
  table(86, "a term without expressions matches none", required(term()), false);
  table(87, "one term of several is enough", required(term(isIn("k3", "v1")), term(isIn("k2", "v0", "v2"))), true);
  table(88, "all expressions of a term", required(term(isIn("k1", "v1", "v3"), isIn("k2", "v0", "v2"))), true);
  table(89, "a key that the node lacks", required(term(isIn("k1", "v1", "v3"), isIn("k3", "v0", "v2"))), false);
  table(90, "another value", required(term(isIn("k1", "v3", "v4"), isIn("k2", "v0", "v2"))), false);
  table(91, "no term matches", required(term(isIn("k3", "v1")), term(isIn("k2", "v0"))), false);

  scenario(
    92,
    "departure",
    "D6: a term with matchFields alone matches every node upstream, and the named node with us",
    () => {
      const fields = { matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] };
      const world = new World().add(makeNode("n1"), makeNode("n2"), makePV("v", { terms: [fields] }), makePVC("c"));
      const upstream = { n1: ["c=v"], n2: ["c=v"] };
      const berth = ask(world, world.pod("p", "c"));
      expectDeparture<Record<string, NodeAnswer>>({ upstream, berth, want: { n1: ["c=v"], n2: texts.bind } });
    },
  );
  scenario(93, "core", "only a class that waits for its first consumer delays; one without a mode is a fault", () => {
    const world = new World().add(makeNode("n"), makeClass("imm", { mode: "Immediate" }), makeClass("wait"));
    world.add(makeClass("unset", { mode: null }), makePV("v", { class: "wait" }));
    const answers = [null, "gone", "unset", "imm", "wait"].map((name) => {
      world.add(makePVC("c", { class: name }));
      return ask(world, world.pod("p", "c"));
    });
    expect(answers).toEqual([
      { n: texts.immediate },
      { n: texts.immediate },
      { error: "class unset: volumeBindingMode: not set" },
      { n: texts.immediate },
      { n: ["c=v"] },
    ]);
  });
  scenario(94, "core", "an annotation that says no class is no class, whatever the spec says", () => {
    const world = new World().add(makeNode("n"), makePV("v"));
    const answers = [{ betaClass: "", class: "local" }, { class: "" }, { class: null }, { betaClass: "local" }].map(
      (facts) => {
        world.add(makePVC("c", facts));
        return askOne(world);
      },
    );
    expect(answers).toEqual([texts.immediate, texts.immediate, texts.immediate, ["c=v"]]);
    world.add(makePVC("c"), makePV("v", { betaClass: "" }));
    expect(askOne(world)).toBe(texts.bind);
  });
});
