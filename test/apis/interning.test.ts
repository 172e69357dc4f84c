import { expect, test } from "vitest";
import { Interning } from "../../src/apis/interning.ts";
import { Translator } from "../../src/apis/kubernetes.ts";
import { makePV, makePVC } from "../support/make.ts";

test("an equal text is the first one, an equal identity the first value", () => {
  const interning = new Interning();
  const first = {};
  expect(interning.value("a", () => first)).toBe(first);
  expect(interning.value("a", () => ({}))).toBe(first);
  expect(interning.text("local")).toBe("local");
});

test("full, it starts over", () => {
  const interning = new Interning({ entriesMax: 2 });
  for (const text of ["a", "b", "c"]) interning.text(text);
  expect(interning.length).toBe(1);
});

test("a text that is longer than any name is given back and not kept", () => {
  const interning = new Interning();
  const long = "x".repeat(254);
  expect(interning.text(long)).toBe(long);
  expect(interning.length).toBe(0);
});

test("long identities are kept up to a length in all", () => {
  const interning = new Interning({ identitiesLengthMax: 1_000 });
  for (let nth = 0; nth < 100; nth++) {
    const identity = `${nth} ${"x".repeat(300)}`;
    expect(interning.value(identity, () => nth)).toBe(nth);
    expect(interning.length).toBeLessThanOrEqual(1_000);
  }
});

test("what no value comes of is not kept, and takes no place, however often it is asked for", () => {
  const interning = new Interning({ identitiesLengthMax: 1_000 });
  const kept = {};
  expect(interning.value("kept", () => kept)).toBe(kept);
  for (let nth = 0; nth < 1_000; nth++) expect(interning.value("no value", () => undefined)).toBeUndefined();
  expect(interning.value("kept", () => ({}))).toBe(kept);
  expect(interning.length).toBe("kept".length);
});

const long = (nth: number): string => `${nth}${"x".repeat(1 << 20)}`;

/** Each is written again and again by somebody who may: another long text each time. */
const rewritten = {
  "a claim's selected-node": (nth: number) => makePVC("x", { selectedNode: long(nth) }),
  "a claim's class": (nth: number) => makePVC("x", { class: long(nth) }),
  "a claim's beta class": (nth: number) => makePVC("x", { betaClass: long(nth) }),
  "a claim's attributes class": (nth: number) => makePVC("x", { attributesClass: long(nth) }),
  "a claim's selector": (nth: number) =>
    makePVC("x", { selector: { matchExpressions: [{ key: "a", operator: "In", values: many(nth) }] } }),
  "a volume's provisioned-by": (nth: number) =>
    makePV("a", { annotations: { "pv.kubernetes.io/provisioned-by": long(nth) } }),
  "a volume's labels": (nth: number) => makePV("a", { labels: { a: long(nth) } }),
  "a volume's affinity": (nth: number) =>
    makePV("a", { terms: [{ matchExpressions: [{ key: "a", operator: "In", values: many(nth) }] }] }),
  "a volume's phase": (nth: number) => makePV("a", { phase: long(nth) }),
};

function many(nth: number): string[] {
  return Array.from({ length: 20_000 }, (_, index) => `${nth}-${"v".repeat(40)}-${index}`);
}

test.for(Object.entries(rewritten))("%s, written again and again, is not kept for ever", ([, make]) => {
  const interning = new Interning({ identitiesLengthMax: 4 << 20 });
  const translator = new Translator({ interning });
  for (let nth = 0; nth < 12; nth++) {
    const raw = make(nth);
    const read = translator.translate(raw["kind"] === "PersistentVolume" ? "volume" : "claim", raw);
    expect(read.ok).toBe(true);
  }
  expect(interning.length).toBeLessThanOrEqual((4 << 20) + 10_000);
});
