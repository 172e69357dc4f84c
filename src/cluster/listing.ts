/**
 * Lists one kind in pages and makes its mirror equal to the list: each object is put as it comes, and what was not seen by the
 * end is removed. Nothing is swapped at once, for that would block for as long as it is large, and need twice the memory.
 */
import { kindInfo } from "../apis/kubernetes.ts";
import type { ApiClient } from "../kube/client.ts";
import { type Answer, type Failure, fieldsOf } from "../kube/outcome.ts";
import type { Kind, ObjectKey } from "../scheduling/objects.ts";
import type { Backoff } from "./backoff.ts";
import type { Pace } from "./pace.ts";

/** What is kept in step with the API. None may throw. */
export interface Mirror {
  /** The key of what was put; undefined where it gives none. */
  put(raw: unknown): ObjectKey | undefined;
  remove(key: ObjectKey): void;
  keys(): Iterable<ObjectKey>;
}

export interface ListingDeps {
  readonly kind: Kind;
  readonly client: ApiClient;
  readonly mirror: Mirror;
  readonly pace: Pace;
  readonly backoff: Backoff;
}

export type Listed = { readonly ok: true; readonly version: string; readonly objects: number } | Failure;

/** A page that fails is asked for again: with hundreds of them, to start over each time might never end. */
const pageTriesMax = 4;
const restItemsMin = 50;
/** A page is parsed in one turn: so much takes about 10 ms. */
const pageBytesWanted = 1 << 20;
/** Before anything is known of the objects' size. */
const firstPageSize = 50;

export async function list(deps: ListingDeps, signal: AbortSignal): Promise<Listed> {
  const { mirror, pace } = deps;
  const marks = new Marks(mirror);
  let version: string | undefined;
  let continueToken = "";
  let limit = firstPageSize;
  do {
    const page = await fetchPage(deps, { continueToken, limit }, signal);
    if (!page.ok) return page;
    limit = nextLimit(deps.kind, page);
    // To read a large page was work enough for one turn.
    if (page.items.length > restItemsMin) await pace.rest();
    for (const raw of page.items) {
      if (signal.aborted) return gaveUp;
      marks.add(mirror.put(raw));
      await pace.step();
    }
    continueToken = page.continueToken;
    // All pages show the state of the first.
    version ??= page.version;
  } while (continueToken !== "");
  await sweep({ mirror, marks, pace }, signal);
  return signal.aborted ? gaveUp : { ok: true, version, objects: marks.objects };
}

const gaveUp: Failure = { ok: false, message: "the reflector stops", ambiguous: false };

/** The objects that a list has shown. A mirror that was empty has nothing to sweep, so nothing is remembered. */
export class Marks {
  readonly #seen: Set<ObjectKey> | undefined;
  #objects = 0;

  constructor(mirror: Mirror) {
    for (const _ of mirror.keys()) {
      this.#seen = new Set();
      break;
    }
  }

  get objects(): number {
    return this.#objects;
  }

  add(key: ObjectKey | undefined): void {
    this.#objects++;
    if (key !== undefined) this.#seen?.add(key);
  }

  isGone(key: ObjectKey): boolean {
    return this.#seen !== undefined && !this.#seen.has(key);
  }
}

export async function sweep(
  { mirror, marks, pace }: { readonly mirror: Mirror; readonly marks: Marks; readonly pace: Pace },
  signal: AbortSignal,
): Promise<void> {
  const gone: ObjectKey[] = [];
  for (const key of mirror.keys()) {
    if (marks.isGone(key)) gone.push(key);
    await pace.step();
  }
  for (const key of gone) {
    if (signal.aborted) return;
    mirror.remove(key);
    await pace.step();
  }
}

interface Page {
  readonly ok: true;
  readonly items: readonly unknown[];
  readonly continueToken: string;
  readonly version: string;
  readonly bytes: number;
}

function nextLimit(kind: Kind, { items, bytes }: Page): number {
  const fitting = Math.floor((pageBytesWanted * items.length) / Math.max(1, bytes));
  return Math.max(1, Math.min(kindInfo[kind].pageSize, fitting));
}

async function fetchPage(
  deps: ListingDeps,
  { continueToken, limit }: { readonly continueToken: string; readonly limit: number },
  signal: AbortSignal,
): Promise<Page | Failure> {
  const { kind, client, backoff } = deps;
  const { path, fieldSelector } = kindInfo[kind];
  const query = new URLSearchParams({ limit: String(limit) });
  if (fieldSelector !== undefined) query.set("fieldSelector", fieldSelector);
  if (continueToken !== "") query.set("continue", continueToken);
  for (let tries = 1; ; tries++) {
    // One try: how often the API is asked in a storm is for the reflector's pauses alone to say.
    const outcome = await client.get(`${path}?${query}`, signal, { triesMax: 1 });
    if (outcome.ok) return readPage(outcome);
    const isExpired = outcome.status === 410;
    if (signal.aborted || isExpired || continueToken === "" || tries >= pageTriesMax) return outcome;
    await backoff.pause(signal, outcome.retryAfterMs);
  }
}

function readPage({ body, bytes }: Answer): Page | Failure {
  const { items, metadata } = fieldsOf(body);
  const { continue: token, resourceVersion } = fieldsOf(metadata);
  const isList = items === undefined || items === null || Array.isArray(items);
  if (!isList || typeof resourceVersion !== "string" || resourceVersion === "") {
    return { ok: false, message: "the list is no list", ambiguous: false };
  }
  return {
    ok: true,
    items: items ?? [],
    continueToken: typeof token === "string" ? token : "",
    version: resourceVersion,
    bytes,
  };
}
