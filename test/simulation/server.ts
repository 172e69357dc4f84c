/**
 * The sandbox's API server as everybody in the simulated world reaches it. Behind it a mirror of what it holds, brought up to date
 * by each write before the next is served, for those who judge and for those who meddle.
 */
import type { Exchange, HttpReply, HttpRequest } from "../../src/runtime/runtime.ts";
import type { Body } from "../binding/world.ts";

export const mirrored = [
  "nodes",
  "persistentvolumes",
  "persistentvolumeclaims",
  "pods",
  "storageclasses",
  "csidrivers",
  "csinodes",
  "csistoragecapacities",
] as const;
export type Plural = (typeof mirrored)[number];

export interface Write {
  readonly by: string;
  readonly request: HttpRequest;
  readonly plural: Plural | undefined;
  /** "namespace/name", or the name of what has no namespace. */
  readonly key: string;
  /** Below the object: "status", "binding", or "". */
  readonly subresource: string;
  /** The object before and after; undefined where there was, or is, none. */
  readonly before: Body;
  readonly after: Body;
  readonly status: number;
}

interface Place {
  readonly plural: Plural | undefined;
  readonly key: string;
  readonly path: string;
  readonly subresource: string;
}

const noSignal = new AbortController().signal;

export class Server {
  /** What is there now, by plural and key. */
  readonly objects: ReadonlyMap<Plural, Map<string, Body>> = new Map(mirrored.map((plural) => [plural, new Map()]));
  readonly #serve: Exchange;
  /** The writes so far: each is told after those that took effect before it. */
  #noted: Promise<void> = Promise.resolve();
  /** Told of each write once its answer is known, in the order of their effect. */
  onWrite: ((write: Write) => void) | undefined;
  /** Called just before a write takes effect. */
  beforeWrite: ((by: string, request: HttpRequest) => void) | undefined;

  constructor(serve: Exchange) {
    this.#serve = serve;
  }

  all(plural: Plural): Body[] {
    return [...(this.objects.get(plural)?.values() ?? [])];
  }

  get(plural: Plural, key: string): Body {
    return this.objects.get(plural)?.get(key);
  }

  /** How the named party reaches the server. */
  exchangeFor(by: string): Exchange {
    return async (request, signal) => {
      if (request.method === "GET") return this.#serve(request, signal);
      this.beforeWrite?.(by, request);
      const place = placeOf(request);
      // A write takes effect in the turn of its call; so a read of that turn sees just this much.
      const replied = this.#serve(request, signal);
      const read = this.#mustRead(request, place) ? this.#read(place.path) : undefined;
      this.#noted = this.#noted.then(async () => {
        const reply = await replied;
        this.#note({ by, request, status: reply.status }, place, read ? await read : this.#after(reply, place));
      });
      await this.#noted;
      return replied;
    };
  }

  /** For what the server does by itself: a Pod whose containers have stopped. */
  async look(plural: Plural, key: string): Promise<void> {
    const [namespace, name] = key.split("/");
    const after = await this.#read(`/api/v1/namespaces/${namespace}/${plural}/${name}`);
    this.#keep(plural, key, after);
  }

  /** A write past the network, by somebody who is never disturbed. */
  async write(by: string, method: string, path: string, body?: unknown, type = "application/json"): Promise<HttpReply> {
    const request = {
      method,
      path,
      headers: { "content-type": type },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    return this.exchangeFor(by)(request, noSignal);
  }

  async #read(path: string): Promise<Body> {
    const reply = await this.#serve({ method: "GET", path, headers: {} }, noSignal);
    return reply.status === 200 ? parsed(reply) : undefined;
  }

  /** Whether the answer is not the object as it is then: that to a Binding or a deletion, or one that may be the last. */
  #mustRead({ method }: HttpRequest, { plural, key, subresource }: Place): boolean {
    if (!plural) return false;
    const isGoing = this.get(plural, key)?.metadata.deletionTimestamp !== undefined;
    return isGoing || method === "DELETE" || subresource === "binding";
  }

  #after(reply: HttpReply, { plural, key }: Place): Body {
    if (!plural) return undefined;
    return reply.status < 300 ? parsed(reply) : this.get(plural, key);
  }

  #note(write: Pick<Write, "by" | "request" | "status">, { plural, key, subresource }: Place, after: Body): void {
    const before = plural && this.get(plural, key);
    if (plural) this.#keep(plural, key, after);
    this.onWrite?.({ ...write, plural, key, subresource, before, after });
  }

  #keep(plural: Plural, key: string, object: Body): void {
    if (object) this.objects.get(plural)?.set(key, object);
    else this.objects.get(plural)?.delete(key);
  }
}

function parsed({ body }: HttpReply): Body {
  return JSON.parse(typeof body === "string" ? body : Buffer.from(body as Uint8Array).toString());
}

/** What a write is about; of a creation the name is in the body. */
function placeOf({ method, path, body }: HttpRequest): Place {
  const [, root, rest = ""] = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)\/(.*)$/.exec(path.split("?")[0] ?? "") ?? [];
  const parts = rest.split("/");
  const namespace = parts[0] === "namespaces" && parts.length > 2 ? parts.splice(0, 2)[1] : undefined;
  const [plural = "", named, subresource = ""] = parts;
  const isMirrored = (mirrored as readonly string[]).includes(plural);
  if (!isMirrored) return { plural: undefined, key: named ?? "", path, subresource };
  const name = named ?? (method === "POST" ? JSON.parse(String(body)).metadata.name : "");
  const inside = namespace === undefined ? "" : `/namespaces/${namespace}`;
  return {
    plural: plural as Plural,
    key: namespace === undefined ? name : `${namespace}/${name}`,
    path: `${root}${inside}/${plural}/${name}`,
    subresource,
  };
}
