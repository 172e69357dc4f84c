/** A whole Berth without sockets over the sandbox's API server and a virtual clock. */
import { kindInfo, objectPath } from "../../src/apis/kubernetes.ts";
import { type Config, defaults } from "../../src/config.ts";
import { createLog } from "../../src/log.ts";
import type { Exchange, HttpReply } from "../../src/runtime/runtime.ts";
import { ApiServer } from "../../src/sandbox/api-server.ts";
import { type Kind, kinds } from "../../src/scheduling/objects.ts";
import { type Berth, startBerth } from "../../src/server/berth.ts";
import { virtualRuntime } from "../support/clock.ts";
import { makeClass, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";

// biome-ignore lint/suspicious/noExplicitAny: API objects are JSON of every shape
export type Body = any;

export async function ask(exchange: Exchange, method: string, path: string, body?: unknown): Promise<Body> {
  const headers = { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" };
  const request = { method, path, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const reply: HttpReply = await exchange(request, new AbortController().signal);
  const text = Buffer.from(reply.body as string).toString();
  const json = text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text;
  return { status: reply.status, json };
}

export class Cluster {
  readonly runtime = virtualRuntime();
  readonly server = new ApiServer({ runtime: this.runtime, protectsVolumes: false });
  readonly lines: Body[] = [];
  /** What becomes of a call of Berth's; told of every one. */
  between: (inner: Exchange) => Exchange = (inner) => inner;
  berth!: Berth;

  async start(objects: readonly Raw[], config: Partial<Config> = {}): Promise<this> {
    const { runtime, server } = this;
    await ask(server.exchange, "POST", "/api/v1/namespaces", { kind: "Namespace", metadata: { name: "d" } });
    for (const object of objects) await this.create(object);
    const stream = { write: (line: string) => void this.lines.push(JSON.parse(line)) };
    const log = createLog({ level: config.logLevel ?? "info", stream, runtime });
    const exchange: Exchange = (request, signal) => this.between(server.exchange)(request, signal);
    this.berth = await startBerth({ exchange, runtime, config: { ...defaults, ...config }, log, version: "test" });
    await runtime.advance(1_000);
    return this;
  }

  async create(object: Raw): Promise<Body> {
    const { uid: _, resourceVersion: __, ...metadata } = object["metadata"] as Record<string, unknown>;
    const kind = kinds.find((name) => kindInfo[name].kind === object["kind"]) as Kind;
    const { namespaced } = kindInfo[kind];
    const key = namespaced ? `${metadata["namespace"]}/${metadata["name"]}` : String(metadata["name"]);
    const collection = objectPath(kind, key)?.replace(/\/[^/]+$/, "") ?? "";
    const { status, json } = await ask(this.server.exchange, "POST", collection, { ...object, metadata });
    if (status !== 201) throw new Error(json.message);
    if (!object["status"]) return json;
    const patch = { status: object["status"] };
    return (await ask(this.server.exchange, "PATCH", `${collection}/${metadata["name"]}/status`, patch)).json;
  }

  async read(kind: Kind, key: string): Promise<Body> {
    return (await ask(this.server.exchange, "GET", objectPath(kind, key) ?? "")).json;
  }

  /** What the PV controller does with a claimRef. */
  async bindClaim(name: string, volume: string): Promise<void> {
    const { exchange } = this.server;
    const annotations = { "pv.kubernetes.io/bind-completed": "yes" };
    const patch = { metadata: { annotations }, spec: { volumeName: volume } };
    await ask(exchange, "PATCH", `/api/v1/persistentvolumes/${volume}/status`, { status: { phase: "Bound" } });
    await ask(exchange, "PATCH", objectPath("claim", `d/${name}`) ?? "", patch);
    await ask(exchange, "PATCH", `${objectPath("claim", `d/${name}`)}/status`, { status: { phase: "Bound" } });
  }
}

/** A Pod with a claim, for which there is a disk on one of two nodes. */
export const base: readonly Raw[] = [
  makeClass("local"),
  makeNode("n1"),
  makeNode("n2"),
  makePV("a", { on: "n1" }),
  makePVC("x"),
  makePod("p", ["x"]),
];
