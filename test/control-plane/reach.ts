/** How tests and the control plane's own start reach an API server or another component's secure port. */
import { writeFileSync } from "node:fs";
import { Transport } from "../../src/kube/transport.ts";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import type { Exchange } from "../../src/runtime/runtime.ts";

/** Of a user in system:masters. */
export const adminToken = "admin-token";
/** Of system:kube-scheduler, whose roles kube-apiserver brings with it. */
export const schedulerToken = "scheduler-token";
/** Of a ServiceAccount that has the roles of `berth rbac` and nothing else. */
export const berthToken = "berth-token";
/** Of one that has nothing but what a test grants it, and whose calls are written down. */
export const auditedToken = "audited-token";

export function reach(server: string): Transport {
  const connection = { server, insecure: true, credentials: { kind: "token", token: adminToken } } as const;
  return new Transport({ runtime, connection });
}

export function writeKubeconfig(path: string, server: string, token = adminToken): void {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "user", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "user" } }],
    "current-context": "test",
  };
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
}

export async function get(exchange: Exchange, path: string): Promise<{ status: number; text: string }> {
  return send(exchange, "GET", path);
}

export async function send(
  exchange: Exchange,
  method: string,
  path: string,
  sent?: { readonly body: unknown; readonly type?: string },
): Promise<{ status: number; text: string }> {
  const headers = { "content-type": sent?.type ?? "application/json" };
  const request = { method, path, headers, ...(sent && { body: JSON.stringify(sent.body) }) };
  const { status, body } = await exchange(request, AbortSignal.timeout(5_000));
  const chunks: Uint8Array[] = [];
  if (typeof body === "string") chunks.push(Buffer.from(body));
  else if (body instanceof Uint8Array) chunks.push(body);
  else for await (const chunk of body) chunks.push(chunk);
  return { status, text: Buffer.concat(chunks).toString("utf8") };
}

/** @throws Error that says what did not come about */
export async function until(what: string, holds: () => Promise<boolean>, limitMs = 60_000): Promise<void> {
  const begun = runtime.now();
  for (;;) {
    if (await holds().catch(() => false)) return;
    if (runtime.now() - begun > limitMs) throw new Error(`not within ${limitMs / 1000} s: ${what}`);
    await runtime.sleep(100);
  }
}
