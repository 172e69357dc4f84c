/** `berth check-config`'s rules: each mistake is found where it is, alone, and nothing is found in what is right. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type CheckOptions, checkSchedulerConfig } from "../../src/scheduler-config/check.ts";
import { deployments } from "../../src/scheduler-config/deployments.ts";
import { type MistakeId, mistakeOf, mistakes } from "../../src/scheduler-config/findings.ts";
import { schedulerConfiguration, schedulerConfigYaml } from "../../src/scheduler-config/generate.ts";
import { tableIn } from "../support/markdown.ts";
import { cases, optionsOf, rightFiles } from "./cases.ts";

const check = (text: string, options: Partial<CheckOptions> = {}) =>
  checkSchedulerConfig(text, { bindTimeoutMs: 600_000, ...options });
const ids = Object.keys(mistakes) as MistakeId[];

test.for(cases)("$id ($name) is found, alone, on its line", ({ id, text, at, says = "", options }) => {
  const findings = check(text, options);
  expect(findings.map((one) => one.id)).toEqual([id]);
  const [found] = findings;
  expect(text.split("\n")[(found?.line ?? 0) - 1]).toContain(at);
  expect(found?.detail).toContain(says);
});

test("every mistake has a file that has it", () => {
  const found = new Set(cases.map(({ id }) => id));
  expect(ids.filter((id) => !found.has(id))).toEqual([]);
});

test.for(deployments)("nothing is found in what is generated for %s", (mode) => {
  expect(check(schedulerConfigYaml(optionsOf(mode)))).toEqual([]);
});

test.for(rightFiles)("nothing is found: $name", ({ text, options }) => {
  expect(check(text, options)).toEqual([]);
});

test("several mistakes come in the order of their lines", () => {
  const text = schedulerConfigYaml(optionsOf("second-scheduler"))
    .replace("percentageOfNodesToScore: 100", "percentageOfNodesToScore: 50")
    .replace("httpTimeout: 610s", "httpTimeout: 5s")
    .replaceAll("ignorable: false", "ignorable: true");
  const found = check(text);
  expect(found.map(({ id }) => id)).toEqual(["nodes-sampled", "ignorable", "ignorable", "bind-timeout"]);
  expect(found.map(({ line }) => line)).toEqual(found.map(({ line }) => line).toSorted((a, b) => a - b));
});

test("anchors and merged keys are followed", () => {
  const text = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 100
profiles:
- schedulerName: default-scheduler
  plugins: { multiPoint: { disabled: [{ name: VolumeBinding }] } }
  pluginConfig: [{ name: DefaultPreemption, args: { minCandidateNodesPercentage: 100 } }]
extenders:
- &berth { urlPrefix: "http://127.0.0.1:10290/v1", filterVerb: filter, prioritizeVerb: prioritize, preemptVerb: preempt,
    weight: 5, nodeCacheCapable: yes, ignorable: off }
- urlPrefix: "http://127.0.0.1:10290/v1"
  bindVerb: bind
  httpTimeout: 610s
`;
  expect(check(text)).toEqual([]);
});

test("whatever the text, it is judged without breaking", { timeout: 20_000 }, () => {
  const base = cases.map(({ text }) => text);
  const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
  const damaged = fc.tuple(fc.constantFrom(...base), fc.nat(), fc.string({ maxLength: 12 }), fc.nat(8));
  const run = fc.property(damaged, ([text, at, inserted, removed]) => {
    const place = at % (text.length + 1);
    const findings = check(text.slice(0, place) + inserted + text.slice(place + removed));
    for (const { id, line, detail } of findings) {
      expect(ids).toContain(id);
      expect(line).toBeGreaterThanOrEqual(1);
      expect(detail).not.toBe("");
    }
  });
  fc.assert(run, { seed, numRuns: 300 });
});

/** A mapping that cannot be made a text, as JavaScript would make one. */
const textless = { toString: 1 };
const odd: readonly unknown[] = [null, textless, [textless], [[]], "", -1, 1.5, true, "x\ny"];

/** The value with one of its parts replaced, once for each part. */
function* oddities(value: unknown, part: unknown): Generator<unknown> {
  yield part;
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    for (const other of oddities(inner, part)) {
      yield Array.isArray(value) ? value.with(Number(key), other) : { ...value, [key]: other };
    }
  }
}

test.for(odd.map((part) => ({ part, text: JSON.stringify(part) })))(
  "whichever value of a file is $text instead, it is judged without breaking",
  ({ part }) => {
    for (const mode of deployments) {
      for (const one of oddities(schedulerConfiguration(optionsOf(mode)), part)) {
        for (const { detail } of check(JSON.stringify(one))) expect(detail).not.toMatch(/object Object|undefined/);
      }
    }
  },
);

test("docs/scheduler-config.md tells every mistake as the command does", () => {
  const rows = ids.map((id) => {
    const { severity, refused, what, why, fix } = mistakeOf(id);
    return [`\`${id}\``, severity, refused ? "does not start" : "starts", what, why, fix];
  });
  expect(tableIn(readFileSync("docs/scheduler-config.md", "utf8"), "finding")).toEqual(rows);
});
