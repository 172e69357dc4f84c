/** An API that checks nothing: it lists, watches and reads whatever it is given, and notes what is written. */
import { keyOf, kindInfo, objectPath } from "../../src/apis/kubernetes.ts";
import type { Exchange, HttpReply } from "../../src/runtime/runtime.ts";
import { type Kind, kinds } from "../../src/scheduling/objects.ts";
import { failure, json, listOf, Stream, watchOn } from "../cluster/support.ts";
import type { Raw } from "../support/make.ts";

export class RawApi {
  readonly writes: string[] = [];
  readonly #objects = new Map<Kind, Map<string, Raw>>(kinds.map((kind) => [kind, new Map()]));
  readonly #streams = new Map<Kind, Stream>();
  #version = 1;

  /** Adds or replaces the object under a new version, and tells whoever watches. */
  put(kind: Kind, key: string, object: Raw): void {
    const metadata = { ...(object["metadata"] as Raw), resourceVersion: String(++this.#version) };
    const put = { ...object, metadata };
    const isKnown = this.#objects.get(kind)?.has(key) === true;
    this.#objects.get(kind)?.set(key, put);
    this.#streams.get(kind)?.send(isKnown ? "MODIFIED" : "ADDED", put);
  }

  /** Puts an object under the key that it names itself. */
  add(kind: Kind, object: Raw): void {
    this.put(kind, keyOf(kind, object) ?? "", object);
  }

  get(kind: Kind, key: string): Raw {
    const found = this.#objects.get(kind)?.get(key);
    if (!found) throw new Error(`no ${kind} ${key}`);
    return found;
  }

  all(kind: Kind): Raw[] {
    return [...(this.#objects.get(kind)?.values() ?? [])];
  }

  readonly exchange: Exchange = async ({ method, path }, signal): Promise<HttpReply> => {
    if (method !== "GET") {
      this.writes.push(`${method} ${path}`);
      return failure(403, "Forbidden");
    }
    const [place = "", query] = path.split("?");
    const kind = kinds.find((one) => kindInfo[one].path === place);
    if (!kind) return this.#one(place);
    const asked = new URLSearchParams(query);
    if (asked.get("watch") !== "true") return listOf(String(this.#version), this.all(kind));
    const stream = new Stream();
    this.#streams.set(kind, stream);
    if (asked.get("sendInitialEvents") === "true") {
      for (const object of this.all(kind)) stream.send("ADDED", object);
      stream.bookmark(String(this.#version), { "k8s.io/initial-events-end": "true" });
    }
    return watchOn(stream, signal);
  };

  #one(path: string): HttpReply {
    for (const [kind, objects] of this.#objects) {
      for (const [key, object] of objects) if (objectPath(kind, key) === path) return json(object);
    }
    return failure(404, "NotFound");
  }
}
