/** The sections about TLS and about who may look: `tls` of the extender's listener, `debugTls` and `debugAccess` of the other one. */
import type { Milliseconds } from "../runtime/runtime.ts";
import type { Read, Section } from "./document.ts";
import { count, duration, flag, isLoopback, text } from "./values.ts";

/** Files of a listener, read again as they change. */
export interface ListenerTls {
  /** PEM: the certificate, then those between it and its authority. */
  readonly certFile: string;
  readonly keyFile: string;
  /** PEM: the authorities whose client certificates are believed. */
  readonly clientCAFile?: string;
  /** Whose they must be: common names or DNS names. One authority signs for many, of which few may call bind. */
  readonly allowedNames?: readonly string[];
}

/** How bearer tokens are looked at on the debug listener, where it speaks TLS. */
export interface DebugAccess {
  /** Whether a token gets in that TokenReview knows and whose user SubjectAccessReview lets read the path. */
  readonly tokenReviews: boolean;
  /** How long a yes and a no are remembered. A token that is withdrawn works for so long. */
  readonly allowedMs: Milliseconds;
  readonly deniedMs: Milliseconds;
  readonly rememberedMax: number;
}

/** kube-apiserver remembers a webhook's yes for minutes; people withdraw a token and look. */
export const defaultDebugAccess: DebugAccess = {
  tokenReviews: true,
  allowedMs: 30_000,
  deniedMs: 5_000,
  rememberedMax: 1_000,
};

const files: Section = {
  certFile: { member: "certFile", form: text },
  keyFile: { member: "keyFile", form: text },
  clientCAFile: { member: "clientCAFile", form: text },
  allowedNames: { member: "allowedNames", each: text },
};

export const tlsKeys = {
  section: files,
  check: (read: Read) => lacking(read, ["certFile", "keyFile", "clientCAFile", "allowedNames"]),
};

export const debugTlsKeys = {
  section: files,
  check: (read: Read) =>
    lacking(read, ["certFile", "keyFile"]) ??
    // One without the other is a mistake, and a listener that asks nobody for a certificate may still ask for a token.
    ("clientCAFile" in read || "allowedNames" in read ? lacking(read, ["clientCAFile", "allowedNames"]) : undefined),
};

export const debugAccessKeys: Section = {
  tokenReviews: { member: "tokenReviews", form: flag },
  allowedTtl: { member: "allowedMs", form: duration },
  deniedTtl: { member: "deniedMs", form: duration },
  rememberedMax: { member: "rememberedMax", form: count },
};

function lacking(read: Read, keys: readonly string[]): { key: string; problem: string } | undefined {
  const key = keys.find((name) => read[name] === undefined);
  return key === undefined ? undefined : { key, problem: `is missing: TLS needs ${keys.join(", ")}` };
}

interface Listeners {
  readonly listen: { readonly host: string };
  readonly debugListen: { readonly host: string };
  readonly tls?: ListenerTls;
  readonly debugTls?: ListenerTls;
  readonly debugAccess: DebugAccess;
  readonly insecure: boolean;
}

/** What is wrong with the listeners together: whoever can call bind can place any Pod, and whoever can look sees every claim. */
export function listenersProblem(config: Listeners): string | undefined {
  const { listen, debugListen, tls, debugTls, debugAccess, insecure } = config;
  if (debugTls && debugTls.clientCAFile === undefined && !debugAccess.tokenReviews) {
    return "debugTls lets nobody in: set debugTls.clientCAFile and debugTls.allowedNames, or debugAccess.tokenReviews to true";
  }
  if (!insecure && !tls && !isLoopback(listen.host)) {
    return `listen is ${listen.host}, beyond loopback, and would speak plain HTTP to anybody: set tls.certFile, tls.keyFile, tls.clientCAFile and tls.allowedNames, or listen on 127.0.0.1`;
  }
  if (!insecure && !debugTls && !isLoopback(debugListen.host)) {
    return `debugListen is ${debugListen.host}, beyond loopback, and would speak plain HTTP to anybody: set debugTls.certFile and debugTls.keyFile (who may look is then asked by token, or by certificate with debugTls.clientCAFile and debugTls.allowedNames), or listen on 127.0.0.1`;
  }
  return undefined;
}
