/** Replies in the few forms that the server gives. */
import type { HttpReply } from "../runtime/runtime.ts";

const jsonHeaders = { "content-type": "application/json" };
const textHeaders = { "content-type": "text/plain; charset=utf-8" };

/** @param encoded  JSON, already written out */
export function jsonReply(encoded: Uint8Array | string): HttpReply {
  return { status: 200, headers: jsonHeaders, body: encoded };
}

export function textReply(status: number, text: string): HttpReply {
  return { status, headers: textHeaders, body: `${text}\n` };
}

const reasons: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  421: "MisdirectedRequest",
  500: "InternalError",
  503: "ServiceUnavailable",
};

/** A failed call, in the error form of the Kubernetes API. kube-scheduler reads the status only; people read the message. */
export function failureReply(code: number, message: string): HttpReply {
  const reason = reasons[code] ?? "Unknown";
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
  return { status: code, headers: jsonHeaders, body: JSON.stringify(status) };
}
