/** Leaving arrays out of JSON text: the rest is as it was, whatever stands in it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { withoutBulk } from "../../src/kube/trim.ts";

const bulky = ["managedFields", "images"];

/** What is left out: the key's arrays, but not where they come first in their object. */
function without(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(without);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(
    ([key, of], index) => index === 0 || !bulky.includes(key) || !Array.isArray(of),
  );
  return Object.fromEntries(entries.map(([key, of]) => [key, without(of)]));
}

const nasty = [
  ',"managedFields":[',
  '"images":[',
  "]",
  "}",
  '"',
  "\\",
  '\\"',
  "[{",
  '","managedFields":[1]',
  "é",
  "\u{1f600}",
];
const text = fc.oneof(
  fc.string(),
  fc.constantFrom(...nasty),
  fc.array(fc.constantFrom(...nasty)).map((all) => all.join("")),
);
const key = fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...bulky) }, { weight: 3, arbitrary: text });
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    text,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("json")), { maxLength: 5 }).map((all) => Object.fromEntries(all)),
  ),
}));

test("what is left is what parsing and leaving out would leave", () => {
  fc.assert(
    fc.property(json, (value) => {
      const written = JSON.stringify(value);
      expect(JSON.parse(withoutBulk(written))).toEqual(without(JSON.parse(written)));
    }),
    { numRuns: 2_000 },
  );
});

const texts: Record<string, [given: string, want: string]> = {
  "an array at the end": ['{"a":1,"managedFields":[{"f:b":{}}]}', '{"a":1}'],
  "one in the middle, with brackets and quotes in texts": ['{"a":1,"images":["]\\"]",[{}]],"b":2}', '{"a":1,"b":2}'],
  "both, and more than once": [
    '[{"a":1,"managedFields":[1]},{"a":2,"images":[],"managedFields":[2]}]',
    '[{"a":1},{"a":2}]',
  ],
  "a key of another type stays": ['{"a":1,"images":{"b":[]}}', '{"a":1,"images":{"b":[]}}'],
  "a text that looks like a key stays": [
    JSON.stringify({ a: ',"managedFields":[1]' }),
    JSON.stringify({ a: ',"managedFields":[1]' }),
  ],
  "an array without an end stays, and is no JSON": ['{"a":1,"images":["]', '{"a":1,"images":["]'],
  "so does one whose text has no end": ['{"a":1,"images":[{"b', '{"a":1,"images":[{"b'],
};

test.for(Object.entries(texts))("%s", ([, [given, want]]) => {
  expect(withoutBulk(given)).toBe(want);
});
