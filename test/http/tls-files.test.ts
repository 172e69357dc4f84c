/** What is said of TLS files that cannot be used: the key of the configuration, the file, and nothing of what is in it. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadTls, type TlsOutcome } from "../../src/http/tls-files.ts";
import { Authority, type Pair, strayKey, type TlsFiles, writePair } from "../support/certificates.ts";

const folder = mkdtempSync(join(tmpdir(), "berth-tls-"));
const dayMs = 86_400_000;
let authority: Authority;
let good: Pair;
let files: TlsFiles;

beforeAll(async () => {
  authority = await Authority.make();
  good = await authority.issue({ name: "berth" });
});
afterAll(() => rmSync(folder, { recursive: true }));

const load = (paths: TlsFiles = files): Promise<TlsOutcome> => loadTls("tls", paths, Date.now());

test("files that go together are read, and when the certificate ends is told", async () => {
  files = writePair(folder, good, authority.cert);
  const found = await load();
  expect(found).toMatchObject({ ok: true, material: { key: good.key } });
  expect(found.ok && Math.abs(found.expiresAtMs - Date.now() - dayMs)).toBeLessThan(60_000);
});

const encrypted = (): string =>
  String(strayKey().export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" }));

/** The certificate with months that there are not: only who looks at its dates can tell. */
function withoutDates(pem: string): string {
  const der = Buffer.from(pem.replaceAll(/-----.*-----|\s/g, ""), "base64").toString("latin1");
  const odd = der.replaceAll(/(\d\d)\d\d(\d{8}Z)/g, "$199$2");
  const lines =
    Buffer.from(odd, "latin1")
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

interface Mistake {
  /** Which file holds something else. */
  readonly file: keyof TlsFiles;
  readonly holds: () => string | Promise<string>;
  readonly want: string;
}

const mistakes: Record<string, Mistake> = {
  "a certificate that is no PEM": {
    file: "certFile",
    holds: () => "not PEM",
    want: "no certificate in PEM (-----BEGIN CERTIFICATE-----)",
  },
  "a certificate that is cut off": {
    file: "certFile",
    holds: () => good.cert.replace(/\n[A-Za-z0-9+/=]+\n-----END/, "\n-----END"),
    want: "holds a certificate that cannot be read",
  },
  "a key in the place of the certificate": { file: "certFile", holds: () => good.key, want: "no certificate in PEM" },
  "an empty file": { file: "keyFile", holds: () => "", want: "no private key in PEM" },
  "a certificate in the place of the key": { file: "keyFile", holds: () => good.cert, want: "no private key in PEM" },
  "a key with a passphrase": { file: "keyFile", holds: encrypted, want: "the key is encrypted" },
  "a key of something else": {
    file: "keyFile",
    holds: () => String(strayKey().export({ type: "pkcs8", format: "pem" })),
    want: "is not the key of the certificate in",
  },
  "a certificate that has expired": {
    file: "certFile",
    holds: async () => (await authority.issue({ name: "berth", lifeMs: -1_000 })).cert,
    want: "the certificate expired at 20",
  },
  "a certificate of tomorrow": {
    file: "certFile",
    holds: async () => (await authority.issue({ name: "berth", beginsMs: dayMs / 2 })).cert,
    want: "the certificate is not valid before 20",
  },
  "a certificate whose dates cannot be read": {
    file: "certFile",
    holds: () => withoutDates(good.cert),
    want: "the certificate's dates cannot be read",
  },
  "no authority": {
    file: "clientCAFile",
    holds: async () => (await authority.issue({ name: "berth" })).cert,
    want: "no certificate of an authority",
  },
  "authorities that have expired": {
    file: "clientCAFile",
    holds: async () => (await Authority.make("old", -1_000)).cert,
    want: "every certificate has expired",
  },
  "a file without end": { file: "certFile", holds: () => "x".repeat((1 << 20) + 1), want: "larger than 1048576 bytes" },
};

test.for(Object.entries(mistakes))("%s", async ([, { file, holds, want }]) => {
  files = writePair(folder, good, authority.cert);
  const text = await holds();
  writeFileSync(files[file], text);
  const found = await load();
  const problem = found.ok ? "no problem" : found.problem;
  expect(problem).toContain(`tls.${file} ${files[file]}`);
  expect(problem).toContain(want);
  expect(problem).not.toContain("\n");
  for (const line of text.split("\n").filter((one) => one.length > 40)) expect(problem).not.toContain(line);
});

test("an authority that has expired may stand beside the one that follows it", async () => {
  const old = await Authority.make("old", -1_000);
  files = writePair(folder, good, old.cert + authority.cert);
  expect((await load()).ok).toBe(true);
});

test("a pair that goes together, with a key too short to be served with", async () => {
  files = writePair(folder, await authority.issue({ name: "berth", isShort: true }), authority.cert);
  const found = await load();
  expect(found.ok || found.problem).toMatch(/^tls\.certFile \S+ cannot be served with: .*too small$/);
});

test("two certificates without a line end between them are two", async () => {
  const [first, second] = [authority.cert.trimEnd(), (await Authority.make("next")).cert.trimEnd()];
  files = writePair(folder, { ...good, cert: `Bag Attributes\n${good.cert.trimEnd()}${second}` }, first + second);
  const found = await load();
  const texts = found.ok ? [found.material.cert, found.material.ca] : [];
  for (const text of texts) expect(text?.match(/^-----(BEGIN|END) CERTIFICATE-----$/gm)).toHaveLength(4);
  expect(texts).toHaveLength(2);
});

test.for(["certFile", "keyFile", "clientCAFile"] as const)("a %s that is not there, a folder, a pipe", async (file) => {
  files = writePair(folder, good, authority.cert);
  const pipe = join(folder, `${file}.pipe`);
  execFileSync("mkfifo", [pipe]);
  const problems = [];
  for (const path of ["/nowhere/x", folder, pipe]) {
    const found = await load({ ...files, [file]: path });
    problems.push(found.ok ? "" : found.problem);
  }
  expect(problems).toEqual([
    `tls.${file} /nowhere/x: no such file`,
    `tls.${file} ${folder}: not a file`,
    `tls.${file} ${pipe}: not a file`,
  ]);
});
