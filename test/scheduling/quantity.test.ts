import { expect, test } from "vitest";
import { type Bytes, compareBytes, formatBytes, parseBytes } from "../../src/scheduling/quantity.ts";

const cases: Record<string, { text: string; want: bigint | undefined }> = {
  "a binary suffix counts in powers of 1024": { text: "100Gi", want: 100n << 30n },
  "a decimal suffix counts in powers of 1000": { text: "500M", want: 500_000_000n },
  "a fraction of a suffix is exact": { text: "1.5Gi", want: 3n << 29n },
  "a fraction without a whole part": { text: ".5Gi", want: 1n << 29n },
  "a point without a fraction": { text: "5.", want: 5n },
  "a fraction of a byte rounds up": { text: "100m", want: 1n },
  "an exponent is not a suffix": { text: "2e9", want: 2_000_000_000n },
  "an exponent may be written large": { text: "1E3", want: 1000n },
  "an exponent may be negative": { text: "25e-1", want: 3n },
  "E alone is exa": { text: "1E", want: 10n ** 18n },
  "Ei is exbi": { text: "1Ei", want: 1n << 60n },
  "a sign may stand before it": { text: "+5", want: 5n },
  "past 2^53 neighbours stay apart": { text: "9007199254740993", want: 9007199254740993n },
  "past 2^63 nothing is lost": { text: "950E", want: 950n * 10n ** 18n },
  "zero is a size": { text: "0", want: 0n },
  "a negative amount is no storage": { text: "-1Gi", want: undefined },
  "a space is not part of the grammar": { text: "1 Gi", want: undefined },
  "a suffix needs a number": { text: "Gi", want: undefined },
  "a point needs a digit": { text: ".", want: undefined },
  "an exponent takes no suffix": { text: "1e3Gi", want: undefined },
  "hexadecimal is not part of the grammar": { text: "0x10", want: undefined },
  "nothing is not zero": { text: "", want: undefined },
  "the longest text that is read": { text: "1".padStart(64, "0"), want: 1n },
  "an exponent of two digits is the largest": { text: "1e99", want: 10n ** 99n },
  "what no double can hold is no size": { text: "1e309", want: undefined },
  "an absurd length is no size": { text: "9".repeat(65), want: undefined },
};

test.for(Object.entries(cases))("parseBytes: %s", ([, { text, want }]) => {
  expect(parseBytes(text)).toBe(want);
});

test.for([`${"9".repeat(60)}e99`, `${"9".repeat(62)}Ei`])("parseBytes: %s is a finite double", (text) => {
  expect(Number(parseBytes(text))).toBeLessThan(Number.MAX_VALUE);
});

test.for([
  ["0", 0n],
  ["1023", 1023n],
  ["1Ki", 1024n],
  ["1.5Gi", 3n << 29n],
  ["100Gi", 100n << 30n],
  ["-2Gi", -(2n << 30n)],
  ["1Ei", 1n << 60n],
  ["2048Ei", 2048n << 60n],
] as const)("formatBytes: %s", ([text, bytes]) => {
  expect(formatBytes(bytes as Bytes)).toBe(text);
});

test("amounts are compared as numbers, and are equal where they are", () => {
  const [one, two] = [10n, 9_007_199_254_740_993n] as const;
  const compare = (a: bigint, b: bigint): number => compareBytes(a as Bytes, b as Bytes);
  expect([compare(one, two), compare(two, one), compare(two, two), compare(two - 1n, two)]).toEqual([-1, 1, 0, -1]);
});
