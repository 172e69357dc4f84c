/** GET: one object, a list, a page of a list, a watch. */
import type { HttpReply, Milliseconds, Runtime } from "../../runtime/runtime.ts";
import type { Page } from "./collection.ts";
import { type Form, formOf, type ListMeta, makeEncoder } from "./encode.ts";
import { flag, type Target, wholeNumber } from "./request.ts";
import { compileSelectors, type Matches } from "./selectors.ts";
import { badRequest, bytesReply, expired, invalid, notFound, resourceVersionTooLarge, unknownPath } from "./status.ts";
import type { Store } from "./store.ts";
import { Watch } from "./watch.ts";

/** Watches without a timeout end after half an hour to an hour, as the real server's do, so that load spreads. */
const watchTimeoutMinMs: Milliseconds = 1_800_000;

interface ReadContext {
  readonly store: Store;
  readonly runtime: Runtime;
  readonly bookmarkIntervalMs: Milliseconds;
  readonly watches: Set<Watch>;
}

interface Read {
  readonly target: Target;
  readonly query: URLSearchParams;
  readonly accept: string | undefined;
  readonly signal: AbortSignal;
}

export function read(context: ReadContext, request: Read): HttpReply {
  const { target, query } = request;
  const form = formOf(request.accept);
  if (target.name !== "") return getOne(context, request, form);
  return flag(query, "watch") ? watch(context, request, form) : list(context, request, form);
}

function encoderFor({ runtime }: ReadContext, { target, query }: Read, form: Form) {
  const includeObject = query.get("includeObject") ?? "Metadata";
  return makeEncoder({ resource: target.resource, form, includeObject, now: () => runtime.wallTime() });
}

function getOne(context: ReadContext, request: Read, form: Form): HttpReply {
  const { resource, namespace, name, subresource } = request.target;
  if (subresource !== "" && !(subresource === "status" && resource.status)) throw unknownPath();
  const version = context.store.find(resource, namespace, name);
  if (!version) throw notFound(resource, name);
  return bytesReply(200, encoderFor(context, request, form).object(version));
}

function matchesOf({ target, query }: Read): { matches: Matches; isSelective: boolean } {
  const labelSelector = query.get("labelSelector") ?? "";
  const fieldSelector = query.get("fieldSelector") ?? "";
  const matches = compileSelectors({ labelSelector, fieldSelector, resource: target.resource });
  return { matches, isSelective: labelSelector !== "" || fieldSelector !== "" };
}

function prefixOf({ resource, namespace }: Target): string {
  return resource.namespaced && namespace !== "" ? `${namespace}/` : "";
}

/** Where a list goes on. Version -1 stands for "whatever is there now", after the first pages' version has expired. */
interface Continue {
  readonly version: number;
  readonly after: string;
}

function encodeContinue({ version, after }: Continue): string {
  return Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: version, start: after })).toString("base64url");
}

function decodeContinue(token: string): Continue {
  try {
    const { v, rv, start } = JSON.parse(Buffer.from(token, "base64url").toString()) as Record<string, unknown>;
    if (v === "meta.k8s.io/v1" && Number.isSafeInteger(rv) && typeof start === "string") {
      return { version: rv as number, after: start };
    }
  } catch {
    // Falls through: whatever it was, it was not ours.
  }
  throw invalidContinue();
}

function invalidContinue() {
  return badRequest("continue key is not valid: it is not a continue token of this server");
}

function exactVersion(query: URLSearchParams): number | undefined {
  const match = query.get("resourceVersionMatch") ?? "";
  const version = wholeNumber(query, "resourceVersion");
  const refuse = (message: string): never => {
    throw invalid("meta.k8s.io", "ListOptions", "", [{ field: "resourceVersionMatch", type: "Forbidden", message }]);
  };
  // Before there was a match to ask for, a first page at a version was that version exactly; it still is.
  if (match === "") return query.has("limit") && version ? version : undefined;
  if (match !== "Exact" && match !== "NotOlderThan") return refuse(`supported values: "Exact", "NotOlderThan", ""`);
  if (version === undefined) return refuse("resourceVersionMatch is forbidden unless resourceVersion is provided");
  if (match === "Exact" && version === 0) {
    return refuse('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
  return match === "Exact" ? version : undefined;
}

function list(context: ReadContext, request: Read, form: Form): HttpReply {
  const { target, query } = request;
  const { store } = context;
  const { matches, isSelective } = matchesOf(request);
  const limit = wholeNumber(query, "limit") ?? 0;
  const token = query.get("continue") ?? "";
  const asked = wholeNumber(query, "resourceVersion") ?? 0;
  if (token !== "" && asked > 0) throw badRequest("specifying resource version is not allowed when using continue");
  if (asked > store.resourceVersion) throw resourceVersionTooLarge(asked, store.resourceVersion);

  const start = token === "" ? { version: exactVersion(query) ?? -1, after: "" } : decodeContinue(token);
  if (start.version > store.resourceVersion) throw invalidContinue();
  const version = start.version < 0 ? store.resourceVersion : start.version;
  const page = store.collection(target.resource).page({
    prefix: prefixOf(target),
    after: start.after,
    resourceVersion: version,
    limit: limit === 0 ? Number.POSITIVE_INFINITY : limit,
    matches,
  });
  if (!page) throw token === "" ? tooOldToList() : tooOldToContinue(start);
  return bytesReply(200, encoderFor(context, request, form).list(page.versions, listMeta(page, version, isSelective)));
}

function listMeta({ versions, remaining }: Page, version: number, isSelective: boolean): ListMeta {
  const last = versions.at(-1);
  if (!last || remaining === 0) return { resourceVersion: String(version) };
  return {
    resourceVersion: String(version),
    continue: encodeContinue({ version, after: last.key }),
    // With a selector nobody has counted how many of the rest match.
    ...(isSelective ? {} : { remainingItemCount: remaining }),
  };
}

function tooOldToList() {
  return expired("The resourceVersion for the provided list is too old.");
}

function tooOldToContinue({ after }: Continue) {
  const message =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
  return expired(message, { continue: encodeContinue({ version: -1, after }) });
}

function watch(context: ReadContext, request: Read, form: Form): HttpReply {
  const { target, query, signal } = request;
  const { store, runtime, watches } = context;
  const { matches } = matchesOf(request);
  const collection = store.collection(target.resource);
  const asked = wholeNumber(query, "resourceVersion") ?? 0;
  const sendInitial = initialWanted(query) ?? asked === 0;
  const prefix = prefixOf(target);
  const inScope: Matches = (version) => version.key.startsWith(prefix) && matches(version);
  const now = store.resourceVersion;
  const page = sendInitial
    ? collection.page({ prefix, after: "", resourceVersion: now, limit: Number.POSITIVE_INFINITY, matches })
    : undefined;
  const isCurrent = sendInitial || asked === 0;
  const bookmarks = flag(query, "allowWatchBookmarks");
  const timeoutSeconds = wholeNumber(query, "timeoutSeconds") ?? 0;
  const stream = new Watch(
    {
      collection,
      runtime,
      encoder: encoderFor(context, request, form),
      // A version of the future is one that other collections will reach: nothing before it is news to this client.
      matches: asked > now ? (version) => version.resourceVersion > asked && inScope(version) : inScope,
      initial: page?.versions ?? [],
      marksInitialEnd: bookmarks && initialWanted(query) === true,
      resourceVersion: isCurrent ? now : asked,
      sequence: isCurrent ? collection.endSequence : collection.sequenceAfter(asked),
      bookmarkIntervalMs: bookmarks ? context.bookmarkIntervalMs : undefined,
      timeoutMs: timeoutSeconds > 0 ? timeoutSeconds * 1000 : watchTimeoutMinMs * (1 + runtime.random()),
      currentVersion: () => store.resourceVersion,
    },
    signal,
    (ended) => watches.delete(ended),
  );
  if (!signal.aborted) watches.add(stream);
  return { status: 200, headers: { "content-type": "application/json" }, body: stream };
}

/** sendInitialEvents; `undefined` when the client leaves it to the resourceVersion. */
function initialWanted(query: URLSearchParams): boolean | undefined {
  const match = query.get("resourceVersionMatch") ?? "";
  if (!query.has("sendInitialEvents")) {
    if (match === "") return undefined;
    const message = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
    throw invalid("meta.k8s.io", "ListOptions", "", [{ field: "resourceVersionMatch", type: "Forbidden", message }]);
  }
  if (match === "NotOlderThan") return flag(query, "sendInitialEvents");
  const message = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
  throw invalid("meta.k8s.io", "ListOptions", "", [{ field: "resourceVersionMatch", type: "Forbidden", message }]);
}
