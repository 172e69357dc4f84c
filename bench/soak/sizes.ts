/**
 * How many entries every collection has that can be reached from a value: Maps, Sets and arrays, in private fields and in what
 * functions close over. So that none is forgotten, the debugger's eyes are used instead of a list of names. What only a promise
 * that nobody has settled holds is not seen.
 */
import { Session } from "node:inspector";

interface Remote {
  readonly objectId?: string;
  readonly type: string;
  readonly subtype?: string;
  readonly className?: string;
  readonly description?: string;
}

interface Property {
  readonly name: string;
  readonly value?: Remote;
}

interface Properties {
  readonly result: readonly Property[];
  readonly internalProperties?: readonly Property[];
  readonly privateProperties?: readonly Property[];
}

/** Lists of the kind `[3, 4]` stand in records by the thousand and say nothing. */
const shortMax = 8;
/** What the language, Node and packages bring along. LRUCache has lists of its full length from the beginning. */
const strangers =
  /^(Promise|Generator|AsyncGenerator|AbortSignal|AbortController|Buffer|\w+Array|WeakMap|WeakRef|WeakSet|LRUCache|Registry|Counter|Gauge|Histogram)$/;
/** What is handed in, and so is not Berth's; and its memory of what it answered, a cache of ten thousands of entries. */
const outside = /^#?(runtime|exchange|log|metrics|random|config|timer|memory)$/;

/** Sizes by path, e.g. "cluster.state.#objects.claim"; those of collections in a collection are summed up under "[]". */
export function sizesOf(root: object): Map<string, number> {
  const session = new Session();
  session.connect();
  try {
    return new Walk(session).from(root);
  } finally {
    session.disconnect();
  }
}

class Walk {
  readonly #session: Session;
  readonly #sizes = new Map<string, number>();
  readonly #seen = new WeakSet<object>();
  readonly #queue: { readonly path: string; readonly object: Remote }[] = [];

  constructor(session: Session) {
    this.#session = session;
  }

  from(root: object): Map<string, number> {
    const handle = { root, isNew: (one: object) => !this.#seen.has(one) && this.#seen.add(one) !== undefined };
    const name = "__soak__";
    Object.assign(globalThis, { [name]: handle });
    try {
      const object = this.#post<{ result: Remote }>("Runtime.evaluate", { expression: `${name}.root` }).result;
      this.#queue.push({ path: "", object });
      // The nearest first, so that a path is as short as there is one.
      for (const { path, object } of this.#queue) this.#look(path, object);
      return this.#sizes;
    } finally {
      Reflect.deleteProperty(globalThis, name);
    }
  }

  #look(path: string, object: Remote): void {
    const { objectId, subtype, className = "", description = "" } = object;
    if (objectId === undefined || strangers.test(className) || !this.#isNew(objectId)) return;
    const { result, internalProperties = [], privateProperties = [] } = this.#properties(objectId);
    if (subtype === "map" || subtype === "set") {
      this.#count(path, Number(/\((\d+)\)/.exec(description)?.[1] ?? 0));
      const entries = internalProperties.find(({ name }) => name === "[[Entries]]")?.value;
      if (entries?.objectId !== undefined) this.#entries(path, entries.objectId);
      return;
    }
    if (subtype === "array") {
      const length = Number(/\((\d+)\)/.exec(description)?.[1] ?? 0);
      if (length > shortMax || !path.includes("[]")) this.#count(path, length);
      for (const { name, value } of result) if (/^\d+$/.test(name)) this.#push(`${path}[]`, value);
      return;
    }
    if (object.type === "function") {
      for (const { name, value } of internalProperties) if (name === "[[Scopes]]") this.#scopes(path, value);
      return;
    }
    for (const { name, value } of [...result, ...privateProperties]) {
      if (name !== "__proto__" && !outside.test(name)) this.#push(path === "" ? name : `${path}.${name}`, value);
    }
  }

  /** Of a Map or a Set: keys and values alike. */
  #entries(path: string, entriesId: string): void {
    for (const { name, value } of this.#properties(entriesId).result) {
      if (!/^\d+$/.test(name) || value?.objectId === undefined) continue;
      for (const { name: part, value: inner } of this.#properties(value.objectId).result) {
        if (part === "value" || part === "key") this.#push(`${path}[]`, inner);
      }
    }
  }

  #scopes(path: string, scopes: Remote | undefined): void {
    if (scopes?.objectId === undefined) return;
    for (const { value } of this.#properties(scopes.objectId).result) {
      if (value?.objectId === undefined || !/^(Closure|Block)/.test(value.description ?? "")) continue;
      for (const { name, value: closed } of this.#properties(value.objectId).result) {
        if (!outside.test(name)) this.#push(`${path}>${name}`, closed);
      }
    }
  }

  #push(path: string, value: Remote | undefined): void {
    if (value?.type === "object" || value?.type === "function") this.#queue.push({ path, object: value });
  }

  #count(path: string, size: number): void {
    this.#sizes.set(path, (this.#sizes.get(path) ?? 0) + size);
  }

  #isNew(objectId: string): boolean {
    const functionDeclaration = "function () { return __soak__.isNew(this); }";
    const asked = { objectId, functionDeclaration, returnByValue: true };
    return this.#post<{ result: { value: boolean } }>("Runtime.callFunctionOn", asked).result.value;
  }

  #properties(objectId: string): Properties {
    return this.#post<Properties>("Runtime.getProperties", { objectId, ownProperties: true });
  }

  #post<T>(method: string, params: object): T {
    let answer: unknown;
    let problem: Error | null = null;
    this.#session.post(method, params, (error, result) => {
      problem = error;
      answer = result;
    });
    if (problem) throw problem;
    return answer as T;
  }
}
