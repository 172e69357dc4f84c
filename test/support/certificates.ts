/** Certificates for tests: an authority of one's own and what it signs, on the P-256 curve, for it is quick. */
import "reflect-metadata";
import { generateKeyPairSync, type KeyObject, webcrypto } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";

/** As short as OpenSSL reads and does not serve with. */
const short = {
  name: "RSASSA-PKCS1-v1_5",
  hash: "SHA-256",
  modulusLength: 1_024,
  publicExponent: new Uint8Array([1, 0, 1]),
} as const;
const signing = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const dayMs = 86_400_000;

/** PEM texts. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

export interface Wanted {
  /** Common name; several where they are given so. */
  readonly name: string | readonly string[];
  readonly dns?: readonly string[];
  /** Since now; negative for one that has expired. */
  readonly lifeMs?: number;
  /** Both unless given. */
  readonly usage?: "client" | "server";
  /** Since now. */
  readonly beginsMs?: number;
  /** With a key that is too short to be served with. */
  readonly isShort?: boolean;
}

let serials = 0;

export class Authority {
  /** PEM. */
  readonly cert: string;
  readonly #certificate: x509.X509Certificate;
  readonly #key: webcrypto.CryptoKey;

  private constructor(certificate: x509.X509Certificate, key: webcrypto.CryptoKey) {
    this.#certificate = certificate;
    this.#key = key;
    this.cert = certificate.toString("pem");
  }

  static async make(name = "test-ca", lifeMs = dayMs): Promise<Authority> {
    const keys = await webcrypto.subtle.generateKey(signing, true, ["sign", "verify"]);
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      serialNumber: serial(),
      name: `CN=${name}`,
      ...life(lifeMs),
      signingAlgorithm: signing,
      keys,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      ],
    });
    return new Authority(certificate, keys.privateKey);
  }

  /** Good for 127.0.0.1 and localhost too. */
  async issue({ name, dns = [], lifeMs = dayMs, beginsMs, usage, isShort = false }: Wanted): Promise<Pair> {
    const keys = await webcrypto.subtle.generateKey(isShort ? short : signing, true, ["sign", "verify"]);
    const { clientAuth, serverAuth } = x509.ExtendedKeyUsage;
    const usages = usage === undefined ? [clientAuth, serverAuth] : [usage === "client" ? clientAuth : serverAuth];
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serial(),
      subject: [name].flat().map((CN) => ({ CN: [CN] })),
      issuer: this.#certificate.subject,
      ...life(lifeMs, beginsMs),
      signingKey: this.#key,
      publicKey: keys.publicKey,
      signingAlgorithm: signing,
      extensions: [
        new x509.ExtendedKeyUsageExtension(usages),
        new x509.SubjectAlternativeNameExtension([
          { type: "ip", value: "127.0.0.1" },
          ...[...dns, ...(usage === "client" ? [] : ["localhost"])].map((value) => ({ type: "dns" as const, value })),
        ]),
      ],
    });
    return { cert: certificate.toString("pem"), key: await pemOf(keys.privateKey) };
  }
}

/** A key that belongs to no certificate. */
export function strayKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
}

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCAFile: string;
}

/** Writes them as kubelet names those of a Secret. */
export function writePair(folder: string, { cert, key }: Pair, ca: string): TlsFiles {
  const files = {
    certFile: join(folder, "tls.crt"),
    keyFile: join(folder, "tls.key"),
    clientCAFile: join(folder, "ca.crt"),
  };
  writeFileSync(files.certFile, cert);
  writeFileSync(files.keyFile, key, { mode: 0o600 });
  writeFileSync(files.clientCAFile, ca);
  return files;
}

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY");
}

function serial(): string {
  return (++serials).toString(16).padStart(4, "0");
}

function life(lifeMs: number, beginsMs = Math.min(0, lifeMs) - dayMs): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(Date.now() + beginsMs), notAfter: new Date(Date.now() + lifeMs) };
}
