import { expect, test } from "vitest";
import { decodeExtenderArgs } from "../../src/apis/extender.ts";
import { makeNode, makePod } from "../support/make.ts";

const mebibyte = 1 << 20;
const inPod = (inside: string): string => `{"Pod":{"a":${inside}},"NodeNames":["n1"]}`;
const deep = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;
const padding = `"${"x".repeat(mebibyte)}"`;

test.for([
  ["brackets without end", inPod(deep(mebibyte)), "the body is nested deeper than 1000"],
  ["brackets that are never closed", "[".repeat(2 * mebibyte), "the body is nested deeper than 1000"],
  [
    "empty objects without end",
    inPod(`[${"{},".repeat(mebibyte)}{}]`),
    "the body has too many objects and lists for its size",
  ],
  [
    "brackets behind an escaped quote",
    inPod(`["\\"",${padding},${deep(1_001)}]`),
    "the body is nested deeper than 1000",
  ],
])("a large body of %s is not parsed", ([, body = "", problem]) => {
  expect(decodeExtenderArgs(body)).toEqual({ ok: false, problem });
});

test.for([
  ["as deep as may be", inPod(`[${padding},${deep(990)}]`)],
  ["brackets in a text", inPod(`"${"[".repeat(2 * mebibyte)}"`)],
  ["brackets in a text with quotes", inPod(`"${'\\"['.repeat(mebibyte)}"`)],
  [
    "whole nodes",
    JSON.stringify({
      Pod: makePod("p", []),
      Nodes: { items: Array.from({ length: 6_000 }, (_, at) => makeNode(`n${at}`)) },
    }),
  ],
])("a large body is read: %s", ([, body = ""]) => {
  expect(body.length).toBeGreaterThan(mebibyte);
  expect(decodeExtenderArgs(body).ok).toBe(true);
});
