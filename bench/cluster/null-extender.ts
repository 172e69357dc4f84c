/**
 * An extender that decides nothing, as a process: every node will do and none is better, and bind takes the node's next disks that
 * are large enough. What it writes and waits for is what anybody must. No other extender can be faster on this control plane.
 *
 *     node null-extender.ts SERVER PORT
 */
import { createServer } from "node:http";
import type { Raw } from "../../test/support/make.ts";
import { objectPathOf } from "../../test/support/paths.ts";
import { Api, metaOf } from "./api.ts";
import { claimsOf, disksByNode } from "./field.ts";

const [, , server = "", port = ""] = process.argv;
const api = new Api(server);
const disks = await disksByNode(api);
const { items, version } = await api.list("PersistentVolumeClaim");
const uids = new Map(items.map((claim) => [metaOf(claim).name, metaOf(claim).uid]));
const bound = new Map<string, () => void>();

async function watchClaims(): Promise<void> {
  for await (const { object } of api.watch("PersistentVolumeClaim", version, new AbortController().signal)) {
    const claim = object as Raw & { metadata: { annotations?: Record<string, string> } };
    if (claim.metadata.annotations?.["pv.kubernetes.io/bind-completed"] !== undefined)
      bound.get(metaOf(claim).name)?.();
  }
}
void watchClaims();

/** The names come last, and go back as they are. */
function passAll(body: Buffer): string {
  const names = body.subarray(body.lastIndexOf('"NodeNames":'), body.lastIndexOf("]") + 1).toString();
  return `{"Nodes":null,${names},"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}`;
}

interface Bind {
  readonly PodName: string;
  readonly PodNamespace: string;
  readonly PodUID: string;
  readonly Node: string;
}

/** @returns what went wrong */
async function bind({ PodName: name, PodNamespace: namespace, PodUID: uid, Node: node }: Bind): Promise<string> {
  const claims = claimsOf(name).filter((claim) => uids.has(claim.name));
  const failures = await Promise.all(claims.map((claim) => prebind(namespace, node, claim)));
  const failure = failures.find((one) => one !== "");
  if (failure !== undefined) return failure;
  const target = { apiVersion: "v1", kind: "Node", name: node };
  const path = `${objectPathOf("Pod", namespace, name)}/binding`;
  const metadata = { namespace, name, uid };
  const outcome = await api.post(path, { apiVersion: "v1", kind: "Binding", metadata, target });
  return outcome.ok ? "" : outcome.message;
}

async function prebind(namespace: string, node: string, { name, gib }: { name: string; gib: number }): Promise<string> {
  const free = disks.get(node) ?? [];
  const at = free.findIndex((disk) => disk.gib >= gib);
  const [disk] = at < 0 ? [] : free.splice(at, 1);
  if (!disk) return `${node} has no disk left`;
  const completed = new Promise<void>((resolve) => bound.set(name, resolve));
  const claimRef = { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid: uids.get(name) };
  const annotations = { "pv.kubernetes.io/bound-by-controller": "yes" };
  const path = objectPathOf("PersistentVolume", undefined, disk.name);
  const outcome = await api.patch(path, { metadata: { annotations }, spec: { claimRef } });
  if (!outcome.ok) return outcome.message;
  await completed;
  bound.delete(name);
  return "";
}

async function answer(verb: string, body: Buffer): Promise<string> {
  if (verb === "/filter") return passAll(body);
  if (verb === "/prioritize") return "[]";
  if (verb === "/bind") return JSON.stringify({ Error: await bind(JSON.parse(body.toString()) as Bind) });
  // preempt: nothing would help.
  return verb === "/preempt" ? '{"NodeNameToMetaVictims":{}}' : "";
}

createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = await answer(request.url ?? "", Buffer.concat(chunks));
  const length = Buffer.byteLength(text);
  response.writeHead(text === "" ? 404 : 200, { "content-type": "application/json", "content-length": length });
  response.end(text);
}).listen(Number(port), "127.0.0.1");
