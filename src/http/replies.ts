/** How replies go out: at the pace of the reader, and not without end. */
import type { ServerResponse } from "node:http";
import type { HttpReply, Milliseconds } from "../runtime/runtime.ts";

/** A reply that the caller does not take is not kept for it without end. */
export function boundReply(raw: ServerResponse, replyMs: Milliseconds): void {
  const { socket } = raw;
  // Mostly the system has taken all of it at once.
  if (!socket || (socket.writableLength === 0 && raw.writableLength === 0)) return;
  const late = setTimeout(() => socket.destroy(), replyMs);
  late.unref();
  raw.once("close", () => clearTimeout(late));
}

/** Writes chunk by chunk at the pace of the reader: nothing is gathered for a client that does not read. */
export async function pour(
  body: Exclude<HttpReply["body"], string | Uint8Array>,
  raw: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const chunk of body) {
      if (signal.aborted) break;
      if (!raw.write(chunk)) await drained(raw);
    }
    raw.end();
  } catch {
    // The status line has gone out: breaking the connection is the only way left to say that the stream is not whole.
    raw.destroy();
  }
}

function drained(raw: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      raw.off("drain", done);
      raw.off("close", done);
      resolve();
    };
    raw.on("drain", done);
    raw.on("close", done);
  });
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const reasons: Record<number, string> = {
  400: "BadRequest",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  431: "RequestHeaderFieldsTooLarge",
  500: "InternalError",
  503: "ServiceUnavailable",
};

/** The error form of the Kubernetes API, which the clients of both our servers can print. */
export function failureBody(code: number, message: string): string {
  const reason = reasons[code] ?? "Unknown";
  return JSON.stringify({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code });
}
