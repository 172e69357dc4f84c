/** Asks the debug listener of a running Berth, over plain HTTP on loopback or TLS with a certificate or a token (docs/security.md). */
import { readFileSync } from "node:fs";
import type { Connection } from "../kube/connection.ts";
import { bytesOf } from "../kube/lines.ts";
import { Transport } from "../kube/transport.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { Misuse } from "./arguments.ts";

/** For `parseOptions`. */
export const debugOptions = {
  url: { type: "string" },
  ca: { type: "string" },
  cert: { type: "string" },
  key: { type: "string" },
  "token-file": { type: "string" },
  "server-name": { type: "string" },
} as const;

export const debugHelp = `      --url URL          Berth's debug listener (default http://127.0.0.1:10291, where
                         "kubectl -n kube-system port-forward deploy/berth 10291" leads)
      --ca FILE          over https: the authority of Berth's certificate, PEM
      --cert FILE        client certificate, PEM, with --key FILE
      --token-file FILE  or a token, as "kubectl create token" prints it
      --server-name NAME that Berth's certificate has, where it is not the host of the URL
`;

export type DebugFlags = { readonly [Name in keyof typeof debugOptions]?: string | undefined };

const defaultUrl = "http://127.0.0.1:10291";
const forward = '"kubectl -n kube-system port-forward deploy/berth 10291" leads there, --url elsewhere';
const timeoutMs = 60_000;
const replyBytesMax = 256 << 20;

export interface DebugReply {
  readonly status: number;
  readonly json: unknown;
}

/**
 * GETs one page as JSON.
 *
 * @throws Misuse where nobody answers, the caller is turned away, or what answers is not Berth
 */
export async function askDebug(runtime: Runtime, flags: DebugFlags, path: string): Promise<DebugReply> {
  const connection = connectionOf(flags);
  const transport = new Transport({ runtime, connection });
  const controller = new AbortController();
  const timer = runtime.timer(timeoutMs, () => controller.abort());
  try {
    const request = { method: "GET", path, headers: { accept: "application/json" } };
    const reply = await transport.exchange(request, controller.signal);
    const text = (await bytesOf(reply.body, replyBytesMax)).toString("utf8");
    return read(connection.server, reply.status, text);
  } catch (problem) {
    if (problem instanceof Misuse) throw problem;
    throw new Misuse(controller.signal.aborted ? tooLate(connection) : noAnswer(connection, problem as Error));
  } finally {
    timer.cancel();
    transport.close();
  }
}

/** @throws Misuse naming the flag */
function connectionOf(flags: DebugFlags): Connection {
  const { url = defaultUrl, "token-file": tokenFile, "server-name": serverName } = flags;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol)) throw new Misuse(`--url ${url}: write it as ${defaultUrl}`);
  if ((flags.cert === undefined) !== (flags.key === undefined)) throw new Misuse("--cert and --key go together");
  const [ca, cert, key] = [pem("--ca", flags.ca), pem("--cert", flags.cert), pem("--key", flags.key)];
  if (parsed.protocol === "http:" && (ca ?? cert ?? tokenFile) !== undefined) {
    throw new Misuse(`--url ${url}: certificates and tokens go over https only`);
  }
  if (tokenFile !== undefined) pem("--token-file", tokenFile);
  return {
    server: parsed.href.replace(/\/+$/, ""),
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(serverName !== undefined && { serverName }),
    credentials: tokenFile === undefined ? { kind: "none" } : { kind: "tokenFile", path: tokenFile },
  };
}

function pem(flag: string, path: string | undefined): Buffer | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Misuse(`${flag} ${path}: ${code === "ENOENT" ? "no such file" : message}`);
  }
}

/** @throws Misuse */
function read(server: string, status: number, text: string): DebugReply {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Misuse(`what answers at ${server} is not Berth's debug listener: ${status}, and no JSON`);
  }
  const { message, kind } = (json ?? {}) as { readonly message?: unknown; readonly kind?: unknown };
  const why = typeof message === "string" && kind === "Status" ? message : undefined;
  if (status === 401 || status === 403) {
    throw new Misuse(`turned away by ${server}: ${why ?? status}; give --token-file, or --cert and --key`);
  }
  if (status === 404 && why === "no such path") {
    throw new Misuse(
      `${server} has no such page: is this the debug listener (10291), and of a Berth as new as this one?`,
    );
  }
  if (status !== 200 && why === undefined) {
    throw new Misuse(`what answers at ${server} is not Berth's debug listener: status ${status}`);
  }
  return { status, json };
}

function noAnswer({ server }: Connection, problem: Error & { code?: string }): string {
  const code = problem.code ?? "";
  if (code === "ECONNREFUSED") return `nobody listens at ${server}: ${forward}`;
  if (/CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/.test(code)) {
    return `the certificate of ${server} is not trusted (${problem.message}): give --ca, or --server-name`;
  }
  if (code === "ECONNRESET" || code === "EPROTO" || code.startsWith("ERR_SSL") || code.startsWith("HPE_")) {
    return `${server} does not speak as asked (${problem.message}): is it ${server.startsWith("https") ? "http" : "https"}?`;
  }
  return `no answer from ${server}: ${problem.message}`;
}

function tooLate({ server }: Connection): string {
  return `no answer from ${server} within ${timeoutMs / 1000} s`;
}
