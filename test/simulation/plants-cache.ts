/** Bugs of the cache, of what is read of objects, and of the lead. */

import type { Exchange, HttpReply, HttpRequest, Runtime } from "../../src/runtime/runtime.ts";
import { ClusterState } from "../../src/scheduling/state.ts";
import type { BerthOptions } from "../../src/server/berth.ts";
import { ElectedLeadership } from "../../src/server/leadership.ts";
import { inFront } from "./patching.ts";
import type { Plant } from "./plants.ts";

// biome-ignore lint/suspicious/noExplicitAny: objects of every kind
type Any = any;

/** Objects of the kind arrive changed. */
function reading(kind: string, edit: (object: Any) => Any): () => void {
  return inFront(
    ClusterState.prototype,
    "set",
    (own) => (set, key, object) => own(set, key, set === kind ? edit(object) : object),
  );
}

function withTimers(timer: (own: Runtime["timer"]) => Runtime["timer"]) {
  return (options: BerthOptions): BerthOptions => ({
    ...options,
    runtime: { ...options.runtime, timer: timer(options.runtime.timer) },
  });
}

const never = { cancel: () => {} };
const isWatch = (path: string): boolean => path.includes("watch=true");

/** After a 410 the watch goes on from now: what happened in between is lost. */
function skipping({ exchange: own, ...options }: BerthOptions): BerthOptions {
  const exchange: Exchange = async (request, signal) => {
    const reply = await own(request, signal);
    if (!isWatch(request.path)) return reply;
    if (reply.status === 410) return own(await fromNow(request, signal), signal);
    const { body } = reply;
    return typeof body === "string" || body instanceof Uint8Array ? reply : { ...reply, body: skip(body) };

    async function* skip(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const line of lines) {
        if (!Buffer.from(line).includes('"code":410')) yield line;
        else yield* (await own(await fromNow(request, signal), signal)).body as AsyncIterable<Uint8Array>;
      }
    }
  };
  const fromNow = async (request: HttpRequest, signal: AbortSignal): Promise<HttpRequest> => {
    const [path = ""] = request.path.split("?");
    const list = parsed(await own({ ...request, path: `${path}?limit=1` }, signal));
    const now = `resourceVersion=${list?.metadata?.resourceVersion ?? 0}`;
    return { ...request, path: request.path.replace(/resourceVersion=\d+/, now) };
  };
  return { ...options, exchange };
}

/** The first line of each watch after the first is lost. */
function losing(options: BerthOptions): BerthOptions {
  const opened = new Set<string>();
  const exchange: Exchange = async (request, signal) => {
    const reply = await options.exchange(request, signal);
    const [path = ""] = request.path.split("?");
    if (!isWatch(request.path) || typeof reply.body === "string" || reply.body instanceof Uint8Array) return reply;
    const isFirst = !opened.has(path);
    opened.add(path);
    return isFirst ? reply : { ...reply, body: withoutFirst(reply.body) };
  };
  return { ...options, exchange };
}

async function* withoutFirst(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let nth = 0;
  for await (const line of lines) if (nth++ > 0) yield line;
}

/** Of each list the last object is missing. */
function shortLists(options: BerthOptions): BerthOptions {
  const exchange: Exchange = async (request, signal) => {
    const reply: HttpReply = await options.exchange(request, signal);
    if (!request.path.includes("limit=") || reply.status !== 200) return reply;
    const list = parsed(reply);
    return list ? { ...reply, body: JSON.stringify({ ...list, items: list.items.slice(0, -1) }) } : reply;
  };
  return { ...options, exchange };
}

function parsed({ body }: HttpReply): Any {
  try {
    return JSON.parse(Buffer.from(body as Uint8Array).toString());
  } catch {
    return undefined;
  }
}

function leading(change: Partial<BerthOptions["config"]["leaderElection"]>) {
  return (options: BerthOptions): BerthOptions => {
    const leaderElection = { ...options.config.leaderElection, ...change };
    return { ...options, config: { ...options.config, leaderElection } };
  };
}

export const cachePlants: readonly Plant[] = [
  {
    name: "misses deletions of claims",
    of: "8",
    patch: () =>
      inFront(
        ClusterState.prototype,
        "delete",
        (own) => (kind, key) => (kind === "claim" ? undefined : own(kind, key)),
      ),
  },
  {
    name: "does not notice a silent watch",
    of: "8",
    adapt: withTimers((own) => (ms, then) => (ms > 70_000 && ms <= 100_000 ? never : own(ms, then))),
  },
  { name: "goes on from now after a 410", of: "8", adapt: skipping },
  { name: "loses a line when it opens a watch again", of: "8", adapt: losing },
  { name: "reads short lists", of: "8", adapt: shortLists },
  {
    name: "does not read the affinity of volumes",
    of: "4",
    patch: () => reading("volume", ({ affinity: _, ...volume }) => volume),
  },
  {
    name: "does not read the size of claims",
    of: "4",
    patch: () => reading("claim", (claim) => ({ ...claim, request: 1n })),
  },
  {
    name: "takes volumes that are being deleted",
    of: "4",
    patch: () => reading("volume", (volume) => ({ ...volume, deleting: false })),
  },
  {
    name: "takes volumes that were released",
    of: "4",
    patch: () =>
      reading("volume", ({ claimRef, ...volume }) => {
        const isReleased = volume.phase === "Released";
        return isReleased ? { ...volume, phase: "Available" } : { ...volume, ...(claimRef && { claimRef }) };
      }),
  },
  {
    name: "ignores selected-node",
    of: "4",
    patch: () => reading("claim", ({ selectedNode: _, ...claim }) => claim),
  },
  {
    name: "leads beside the other one",
    of: "8: leader election",
    adapt: (options) => ({
      ...options,
      ...(options.election && { election: { ...options.election, identity: "berth" } }),
    }),
  },
  { name: "leads on when it cannot renew", of: "8: leader election", adapt: leading({ renewMs: 3_600_000 }) },
  {
    name: "writes although it leads no more",
    of: "8: leader election",
    patch: () => {
      const undo = [
        inFront(ElectedLeadership.prototype, "mayWrite", () => () => true),
        inFront(ElectedLeadership.prototype, "readiness", () => () => ({ ready: true })),
      ];
      return () => undo.forEach((one) => void one());
    },
  },
];
