/** Requests of Node's, as the handlers see them. */
import type { IncomingMessage } from "node:http";
import type { HttpRequest, RequestHead } from "../runtime/runtime.ts";
import type { Connections } from "./connections.ts";

export function headOf({ method, url, headers, socket }: IncomingMessage, connections: Connections): RequestHead {
  const { "content-length": length, "transfer-encoding": encoding, authorization } = headers;
  const bodyBytes = encoding !== undefined ? undefined : Number(length ?? 0);
  const peer = connections.peerOf(socket);
  return {
    method: method ?? "GET",
    path: url ?? "/",
    bodyBytes,
    ...(authorization !== undefined && { authorization }),
    ...(peer && { peer }),
  };
}

export function toHttpRequest({ method, url, headers }: IncomingMessage, body: unknown): HttpRequest {
  return {
    method: method ?? "GET",
    path: url ?? "/",
    // Node joins repeated headers to one string, all but set-cookie, which no request carries.
    headers: headers as Record<string, string>,
    ...(body instanceof Uint8Array && body.length > 0 ? { body } : {}),
  };
}
