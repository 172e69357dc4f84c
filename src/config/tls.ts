/** The sections about TLS and about who may look: `tls` of the extender's listener, `debugTls` and `debugAccess` of the other one. */
import type { Milliseconds } from "../runtime/runtime.ts";
import type { Nested, Section } from "./sections.ts";
import { duration, flag, isLoopback, text, whole } from "./values.ts";

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

const hour: Milliseconds = 3_600_000;

const files = (name: string, without: string): Section => ({
  certFile: {
    member: "certFile",
    form: text,
    says: "PEM: the certificate, then those between it and its authority. Read again when it changes.",
    example: `/etc/berth/${name}.crt`,
  },
  keyFile: { member: "keyFile", form: text, says: "PEM: its key.", example: `/etc/berth/${name}.key` },
  clientCAFile: {
    member: "clientCAFile",
    form: text,
    says: "PEM: the authorities whose client certificates are believed.",
    without,
    example: "/etc/berth/client-ca.crt",
  },
  allowedNames: {
    member: "allowedNames",
    each: text,
    says: "Common names or DNS names that client certificates must be of. One authority signs for many.",
    without,
    example: name === "debug" ? "[prometheus]" : '["system:kube-scheduler"]',
  },
});

export const tlsSection: Nested = {
  says: "TLS with client certificates where kube-scheduler asks (docs/security.md).",
  without: "plain HTTP, on loopback alone",
  section: files("berth", ""),
  needs: ["certFile", "keyFile", "clientCAFile", "allowedNames"],
};

const together = ["clientCAFile", "allowedNames"] as const;

export const debugTlsSection: Nested = {
  says: "TLS on the debug listener, where callers then have to say who they are: by token, or by certificate.",
  without: "plain HTTP, on loopback alone",
  section: files("debug", "tokens alone"),
  needs: ["certFile", "keyFile"],
  rules: [
    {
      // One without the other is a mistake, and a listener that asks nobody for a certificate may still ask for a token.
      says: "`clientCAFile` and `allowedNames` go together",
      schema: { dependentRequired: { clientCAFile: ["allowedNames"], allowedNames: ["clientCAFile"] } },
      wrongs: (read) => {
        const missing = together.filter((key) => read[key] === undefined);
        if (missing.length !== 1) return [];
        return [{ at: missing, problem: `is missing: ${together.join(" and ")} go together` }];
      },
    },
  ],
};

export const debugAccessSection: Nested = {
  says: "How bearer tokens are looked at on the debug listener, where it speaks TLS.",
  section: {
    tokenReviews: {
      member: "tokenReviews",
      form: flag,
      says: "Whether a token gets in that TokenReview knows and whose user SubjectAccessReview lets read the path.",
    },
    allowedTtl: {
      member: "allowedMs",
      form: duration(1, hour),
      says: "How long a yes is remembered. A token that is withdrawn works for so long.",
    },
    deniedTtl: { member: "deniedMs", form: duration(1, hour), says: "How long a no is remembered." },
    rememberedMax: { member: "rememberedMax", form: whole(1, 100_000), says: "How many answers are remembered." },
  },
};

interface Listeners {
  readonly listen: { readonly host: string };
  readonly debugListen: { readonly host: string };
  readonly tls?: ListenerTls;
  readonly debugTls?: ListenerTls;
  readonly debugAccess: DebugAccess;
  readonly insecure: boolean;
}

export const listenerRules = [
  "`listen` beyond loopback needs `tls`, and `debugListen` beyond loopback `debugTls`, unless `insecure` is true",
  "`debugTls` without `clientCAFile` needs `debugAccess.tokenReviews`, or nobody could look",
] as const;

/** What is wrong with the listeners together: whoever can call bind can place any Pod, and whoever can look sees every claim. */
export function listenersProblems(config: Listeners): { key: keyof Listeners; problem: string }[] {
  const { listen, debugListen, tls, debugTls, debugAccess, insecure } = config;
  const found: { key: keyof Listeners; problem: string }[] = [];
  if (debugTls && debugTls.clientCAFile === undefined && !debugAccess.tokenReviews) {
    const problem =
      "lets nobody in: set debugTls.clientCAFile and debugTls.allowedNames, or debugAccess.tokenReviews to true";
    found.push({ key: "debugTls", problem });
  }
  if (!insecure && !tls && !isLoopback(listen.host)) {
    const problem = `is ${listen.host}, beyond loopback, and would speak plain HTTP to anybody: set tls.certFile, tls.keyFile, tls.clientCAFile and tls.allowedNames, or listen on 127.0.0.1`;
    found.push({ key: "listen", problem });
  }
  if (!insecure && !debugTls && !isLoopback(debugListen.host)) {
    const problem = `is ${debugListen.host}, beyond loopback, and would speak plain HTTP to anybody: set debugTls.certFile and debugTls.keyFile (who may look is then asked by token, or by certificate with debugTls.clientCAFile and debugTls.allowedNames), or listen on 127.0.0.1`;
    found.push({ key: "debugListen", problem });
  }
  return found;
}
