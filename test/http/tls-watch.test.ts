/** Files of TLS that change while nobody looks but every ten seconds. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { TlsOutcome } from "../../src/http/tls-files.ts";
import { pollMs, TlsWatch } from "../../src/http/tls-watch.ts";
import { virtualRuntime } from "../support/clock.ts";

const version = (name: string, ca = "ca") => ({ material: { cert: name, key: name, ca }, expiresAtMs: 1 });
const good = (name: string, ca?: string): TlsOutcome => ({ ok: true, ...version(name, ca) });
const bad = (problem: string): TlsOutcome => ({ ok: false, problem });
const warning = "New TLS files cannot be used; those before them stay in use";

let runtime = virtualRuntime();
let watch: TlsWatch;
/** What is on disk; each look takes one, and the last one stays. */
let disk: TlsOutcome[] = [];
let looked = 0;
let told: string[] = [];

beforeEach(() => {
  runtime = virtualRuntime();
  [disk, looked, told] = [[good("first")], 0, []];
  const say = (_fields: object, message: string): void => void told.push(message);
  watch = new TlsWatch(
    {
      runtime,
      log: { debug: say, info: say, warn: say, error: say },
      source: "tls.crt",
      load: async () => {
        looked++;
        const [found = bad("nothing")] = disk;
        if (disk.length > 1) disk.shift();
        return found;
      },
      serve: ({ cert, ca }) => void told.push(`serves ${cert} ${ca}`),
      observer: { reloaded: (outcome) => void told.push(outcome), expiresAt: () => {} },
    },
    version("first"),
  );
  watch.start();
});
afterEach(() => watch.stop());

test("files that are as they were are looked at and not served anew", async () => {
  await runtime.advance(5 * pollMs);
  expect([looked, told]).toEqual([5, []]);
});

test("another pair is served once, and so are other authorities", async () => {
  disk = [good("second")];
  await runtime.advance(3 * pollMs);
  disk = [good("second", "other")];
  await runtime.advance(3 * pollMs);
  const told2 = ["serves second ca", "renewed", "TLS files renewed"];
  expect(told).toEqual([...told2, "serves second other", ...told2.slice(1)]);
});

test("files between two versions are looked at again before they are judged", async () => {
  disk = [bad("the key is another's"), good("second")];
  await runtime.advance(2 * pollMs);
  expect(told).toEqual(["serves second ca", "renewed", "TLS files renewed"]);
});

test("what cannot be used is counted with each look and told of once; another problem is told of again", async () => {
  disk = [bad("no key")];
  await runtime.advance(3 * pollMs + 5_000);
  expect(told).toEqual(["refused", warning, "refused", "refused"]);
  disk = [bad("no certificate")];
  await runtime.advance(pollMs);
  expect(told.slice(4)).toEqual(["refused", warning]);
  disk = [good("first")];
  await runtime.advance(2 * pollMs);
  disk = [bad("no certificate")];
  await runtime.advance(2 * pollMs);
  expect(told.slice(6, 8)).toEqual(["refused", warning]);
});

test("one that has stopped looks no more", async () => {
  watch.stop();
  await runtime.advance(5 * pollMs);
  expect([looked, runtime.pending()]).toEqual([0, 0]);
});
