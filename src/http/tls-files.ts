/** The files of a TLS listener: read, and looked at before anybody is served with them. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import type { Milliseconds } from "../runtime/runtime.ts";

export interface TlsPaths {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCAFile?: string;
}

/** PEM texts that go together. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
  /** Clients are asked for a certificate of these; nobody is without. */
  readonly ca?: string;
}

export interface LoadedTls {
  readonly material: TlsMaterial;
  /** Of the certificate, since 1970. */
  readonly expiresAtMs: Milliseconds;
}

export type TlsOutcome =
  | ({ readonly ok: true } & LoadedTls)
  /** One line that names the key of the configuration and the file, and nothing of what is in it. */
  | { readonly ok: false; readonly problem: string };

/** A bundle of all public authorities is a fifth of that. */
const fileBytesMax = 1 << 20;

/** Who replaces them more often than they can be read is looked at again later. */
const readingsMax = 4;

/** What is wrong with a file. Never leaves this file. */
class Unusable extends Error {}

/**
 * @param section  of the configuration, for messages: "tls"
 * @param wallTime  since 1970
 */
export async function loadTls(section: string, paths: TlsPaths, wallTime: Milliseconds): Promise<TlsOutcome> {
  try {
    return { ok: true, ...(await load(section, paths, wallTime)) };
  } catch (unusable) {
    if (!(unusable instanceof Unusable)) throw unusable;
    return { ok: false, problem: unusable.message };
  }
}

async function load(section: string, paths: TlsPaths, wallTime: Milliseconds): Promise<LoadedTls> {
  const { certFile, keyFile, clientCAFile } = paths;
  const { cert, key, ca } = await readAll(section, paths);
  const chain = certificates(`${section}.certFile ${certFile}`, cert);
  const leaf = chain[0];
  const expiresAtMs = lifeOf(`${section}.certFile ${certFile}`, leaf, wallTime);
  if (!leaf.checkPrivateKey(keyOf(`${section}.keyFile ${keyFile}`, key))) {
    throw new Unusable(`${section}.keyFile ${keyFile} is not the key of the certificate in ${certFile}`);
  }
  const authorities =
    ca === undefined ? undefined : authoritiesOf(`${section}.clientCAFile ${clientCAFile}`, ca, wallTime);
  // What was looked at is what is served: OpenSSL reads nothing of two files that were put together without a line end between.
  const material = { cert: pemOf(chain), key, ...(authorities && { ca: pemOf(authorities) }) };
  try {
    createSecureContext(material);
  } catch (error) {
    // OpenSSL is stricter than a look at each file, e.g. about keys that are too short.
    throw new Unusable(`${section}.certFile ${certFile} cannot be served with: ${(error as Error).message}`);
  }
  return { material, expiresAtMs };
}

interface Texts {
  readonly cert: string;
  readonly key: string;
  readonly ca: string | undefined;
}

/** All of one version: a mount may be replaced between two files, so they are read until two readings agree. */
async function readAll(section: string, paths: TlsPaths): Promise<Texts> {
  let found = await readOnce(section, paths);
  for (let tries = 1; tries < readingsMax; tries++) {
    const before = found;
    found = await readOnce(section, paths);
    if (found.cert === before.cert && found.key === before.key && found.ca === before.ca) break;
  }
  return found;
}

async function readOnce(section: string, { certFile, keyFile, clientCAFile }: TlsPaths): Promise<Texts> {
  const cert = await read(`${section}.certFile ${certFile}`, certFile);
  const key = await read(`${section}.keyFile ${keyFile}`, keyFile);
  const caFile = `${section}.clientCAFile ${clientCAFile}`;
  return { cert, key, ca: clientCAFile === undefined ? undefined : await read(caFile, clientCAFile) };
}

async function read(what: string, path: string): Promise<string> {
  try {
    const found = await stat(path);
    // To read a pipe would wait for whoever writes to it.
    if (!found.isFile()) throw new Unusable(`${what}: not a file`);
    if (found.size > fileBytesMax) throw new Unusable(`${what}: larger than ${fileBytesMax} bytes`);
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Unusable) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Unusable(`${what}: ${code === "ENOENT" ? "no such file" : message}`);
  }
}

/** The certificates of a file, one at least. */
function certificates(what: string, pem: string): readonly [X509Certificate, ...X509Certificate[]] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  const [first, ...rest] = blocks.map((block) => {
    try {
      return new X509Certificate(block);
    } catch {
      throw new Unusable(`${what}: holds a certificate that cannot be read`);
    }
  });
  if (!first) throw new Unusable(`${what}: no certificate in PEM (-----BEGIN CERTIFICATE-----)`);
  return [first, ...rest];
}

function keyOf(what: string, pem: string): ReturnType<typeof createPrivateKey> {
  try {
    return createPrivateKey(pem);
  } catch {
    const isEncrypted = /BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(pem);
    throw new Unusable(`${what}: ${isEncrypted ? "the key is encrypted" : "no private key in PEM"}`);
  }
}

/** @returns when it ends */
function lifeOf(what: string, { validFrom, validTo }: X509Certificate, wallTime: Milliseconds): Milliseconds {
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
  if (Number.isNaN(from) || Number.isNaN(to)) throw new Unusable(`${what}: the certificate's dates cannot be read`);
  if (from > wallTime)
    throw new Unusable(`${what}: the certificate is not valid before ${new Date(from).toISOString()}`);
  if (to <= wallTime) throw new Unusable(`${what}: the certificate expired at ${new Date(to).toISOString()}`);
  return to;
}

/** One that has expired may stand beside the one that follows it. */
function authoritiesOf(what: string, pem: string, wallTime: Milliseconds): readonly X509Certificate[] {
  const all = certificates(what, pem);
  if (!all.some(({ ca }) => ca)) throw new Unusable(`${what}: no certificate of an authority`);
  if (all.every(({ validTo }) => Date.parse(validTo) <= wallTime)) {
    throw new Unusable(`${what}: every certificate has expired`);
  }
  return all;
}

function pemOf(certificates: readonly X509Certificate[]): string {
  return certificates.map(String).join("");
}
