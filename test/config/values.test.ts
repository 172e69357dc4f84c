/** Single values: what is read, what is not, what was likely meant, and that what is written is read again. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { meantDuration } from "../../src/config/durations.ts";
import { meantSize } from "../../src/config/sizes.ts";
import {
  address,
  duration,
  type Form,
  flag,
  namespaceName,
  objectName,
  qualifiedName,
  size,
  unitSize,
  week,
} from "../../src/config/values.ts";

const anyDuration = duration(1, week);
const anySize = size(1024, 512 << 20);

test("durations read as Go writes them", () => {
  const read = ["600s", "10m0s", "1h1m1.5s", "250ms", "168h", ".5s", "1.s", "5000µs", "5000μs", "2000000ns"];
  const wanted = [600_000, 600_000, 3_661_500, 250, 604_800_000, 500, 1_000, 5, 5, 2];
  expect(read.map((text) => anyDuration.read(text))).toEqual(wanted);
});

test.for([
  ["0s"],
  ["-1s"],
  ["+1s"],
  ["10"],
  [10],
  ["1 s"],
  [" 1s"],
  ["1s\n"],
  [""],
  ["s"],
  [".s"],
  ["1..5s"],
  ["1e3s"],
  ["0x10s"],
  ["1d"],
  ["1S"],
  ["PT1S"],
  ["999us"],
  ["168h1ms"],
  ["١s"],
  [`${"9".repeat(400)}h`],
  ["9".repeat(100_000)],
  [null],
  [true],
  [{}],
  [["1s"]],
])("%j is no duration", ([value]) => {
  expect(anyDuration.read(value)).toBeUndefined();
});

test.for([
  [600, "600s"],
  ["600", "600s"],
  ["10 min", "10m"],
  ["10 Minutes", "10m"],
  ["1d", "24h"],
  ["2 days", "48h"],
  ["PT5M", "5m"],
  ["1H30M", "1h30m"],
  ["90sec", "90s"],
  ["500 millis", "500ms"],
  ["soon", undefined],
  ["1 fortnight", undefined],
  [-5, undefined],
  [Number.NaN, undefined],
  [null, undefined],
] as const)("who writes %j for a duration means %j", ([written, meant]) => {
  expect(meantDuration(written)).toBe(meant);
});

test("sizes are of bytes, and no thousandths of them", () => {
  expect(["1Ki", 1024, "1e6", "1.5Mi", "64M"].map((text) => anySize.read(text))).toEqual([
    1024, 1024, 1_000_000, 1_572_864, 64_000_000,
  ]);
  const none = [10, "0", "1Ti", "x", "64m", "64MB", "-1Ki", "64 Mi", "", null, Number.POSITIVE_INFINITY, "1e99"];
  expect(none.filter((value) => anySize.read(value) !== undefined)).toEqual([]);
  expect(unitSize.read("1")).toBe(1n);
});

test.for([
  ["64MB", "64Mi"],
  ["64 mib", "64Mi"],
  ["64m", "64Mi"],
  ["1g", "1Gi"],
  ["large", undefined],
  [64, undefined],
] as const)("who writes %j for a size means %j", ([written, meant]) => {
  expect(meantSize(written)).toBe(meant);
});

test("addresses name a port that there is", () => {
  expect(address.read(":80")).toEqual({ host: "::", port: 80 });
  expect(address.read("[fe80::1]:80")).toEqual({ host: "fe80::1", port: 80 });
  const none = ["h:65536", "h", "h:", "::1:80", 80, "http://h:80", "h:80/v1", "h :80", "[h]:80", "h:080000"];
  expect(none.filter((text) => address.read(text) !== undefined)).toEqual([]);
});

test("words for true and false are told from texts", () => {
  expect(["yes", "True", "on"].map((word) => flag.hint?.(word))).toEqual(Array(3).fill("write true, without quotes"));
  expect(flag.hint?.("off")).toBe("write false, without quotes");
});

const names: Record<string, { form: Form<string>; good: string[]; bad: string[] }> = {
  objects: {
    form: objectName,
    good: ["a", "local-nvme", "a.b-c.d9", "9", "a".repeat(253)],
    bad: ["", "A", "-a", "a-", "a..b", "a_b", "a b", "a/b", "a".repeat(254)],
  },
  namespaces: { form: namespaceName, good: ["kube-system", "a".repeat(63)], bad: ["a.b", "A", "", "a".repeat(64)] },
  "labels and annotations": {
    form: qualifiedName,
    good: ["disk", "example.com/disk", "capacity.topolvm.io/00default", "a/B_c.d", `${"a".repeat(253)}/b`],
    bad: ["", "/disk", "example.com/", "a/b/c", "Example.com/disk", "a b", "-a", `a/${"b".repeat(64)}`],
  },
};

test.for(Object.entries(names))("names of %s are those that Kubernetes takes", ([, { form, good, bad }]) => {
  expect(good.filter((name) => form.read(name) !== name)).toEqual([]);
  expect(bad.filter((name) => form.read(name) !== undefined)).toEqual([]);
});

test("what is written is read as it was", () => {
  const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
  const host = fc.constantFrom("127.0.0.1", "::1", "::", "berth.kube-system.svc");
  const run = fc.property(
    fc.integer({ min: 1, max: week }),
    fc.integer({ min: 1024, max: 512 << 20 }),
    fc.record({ host, port: fc.nat(65_535) }),
    (ms, bytes, at) => {
      expect(anyDuration.read(anyDuration.write(ms))).toBe(ms);
      expect(anySize.read(anySize.write(bytes))).toBe(bytes);
      expect(address.read(address.write(at))).toEqual(at);
    },
  );
  fc.assert(run, { seed, numRuns: 500 });
});
