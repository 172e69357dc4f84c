/** How long a page may become. */
import { expect, test } from "vitest";
import { boundedReply } from "../../src/server/page/document.ts";
import { html } from "../../src/server/page/html.ts";

const pageOf = (size: number) => ({
  title: "t",
  at: "2026-01-01T00:00:00.000Z",
  main: html`<p>${"x".repeat(size)}</p>`,
});
const bytesOf = (sizes: readonly number[]): number =>
  String(boundedReply(sizes, pageOf).body).match(/x{9,}/)?.[0].length ?? 0;

test.for<[string, readonly number[], number]>([
  ["the most that it can show, where that is short enough", [500_000, 1_000], 500_000],
  ["less, where the most is longer than 512 KiB", [600_000, 525_000, 9_000, 1_000], 9_000],
  ["the least, where all are too long", [2_000_000, 600_000], 600_000],
])("a page shows %s", ([, sizes, shown]) => {
  expect(bytesOf(sizes)).toBe(shown);
});
