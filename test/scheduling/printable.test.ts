import { expect, test } from "vitest";
import { printable, printableJson } from "../../src/scheduling/printable.ts";

const rows: [string, string, string][] = [
  ["what is plain stays", "d/x: 5Gi, ü 字 ✓", "d/x: 5Gi, ü 字 ✓"],
  ["an escape sequence", "a\u001b[2Jb", "a\\u{1b}[2Jb"],
  ["one of a single character", "a\u009b31mb", "a\\u{9b}31mb"],
  ["line ends", "a\nb\r\u2028c", "a\\u{a}b\\u{d}\\u{2028}c"],
  ["text that runs the other way", "a\u202eb\u2066c", "a\\u{202e}b\\u{2066}c"],
  ["what is not seen", "a\u200bb\ufeffc\u{e0001}", "a\\u{200b}b\\u{feff}c\\u{e0001}"],
  ["half a character", "a\ud800b", "a\\u{d800}b"],
];

test.for(rows)("%s", ([, text, want]) => {
  expect(printable(text)).toBe(want);
});

test.for(rows)("JSON keeps its value: %s", ([, text]) => {
  const written = printableJson(JSON.stringify({ [text]: [text] }, null, 2));
  expect(JSON.parse(written)).toEqual({ [text]: [text] });
  expect(written.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
});
