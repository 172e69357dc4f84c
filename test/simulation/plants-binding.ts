/** Bugs of bind: one at least for each step of design.md section 7. */
import { Binder } from "../../src/binding/binder.ts";
import { ApiKubeWriter } from "../../src/binding/kube-writer.ts";
import { Watchpoints } from "../../src/binding/watchpoints.ts";
import { Cluster } from "../../src/cluster/cluster.ts";
import type { Exchange, HttpRequest } from "../../src/runtime/runtime.ts";
import type { Kind } from "../../src/scheduling/objects.ts";
import { Reservations } from "../../src/scheduling/reservations.ts";
import { VolumeTable } from "../../src/scheduling/volume-table.ts";
import type { BerthOptions } from "../../src/server/berth.ts";
import type { Body } from "../binding/world.ts";
import { inFront, nothing } from "./patching.ts";
import type { Plant } from "./plants.ts";
import { kindOf } from "./trigger.ts";

/** Rewrites the bodies of requests on their way out. */
function rewriting(edit: (request: HttpRequest, body: Body) => Body) {
  return (options: BerthOptions): BerthOptions => {
    const exchange: Exchange = (request, signal) => {
      const isWrite = request.method !== "GET" && request.body !== undefined;
      const body = isWrite ? JSON.stringify(edit(request, JSON.parse(String(request.body)))) : undefined;
      return options.exchange(body === undefined ? request : { ...request, body }, signal);
    };
    return { ...options, exchange };
  };
}

function withoutVersion({ metadata: { resourceVersion: _, ...metadata }, ...rest }: Body): Body {
  return { metadata, ...rest };
}

/** A volume whose claimRef was refused for its version is read and written over. */
function overwriting(options: BerthOptions): BerthOptions {
  const exchange: Exchange = async (request, signal) => {
    const reply = await options.exchange(request, signal);
    if (reply.status !== 409 || kindOf(request) !== "claimRef") return reply;
    const read = await options.exchange({ method: "GET", path: request.path, headers: {} }, signal);
    if (read.status !== 200) return reply;
    const { metadata } = JSON.parse(Buffer.from(read.body as Uint8Array).toString());
    const patch = JSON.parse(String(request.body));
    const { uid, resourceVersion } = metadata;
    const body = JSON.stringify({ ...patch, metadata: { ...patch.metadata, uid, resourceVersion } });
    return options.exchange({ ...request, body }, signal);
  };
  return { ...options, exchange };
}

/** Reads of the kind come from the cache, where it has the object. */
function cached(kind: Kind): () => void {
  return inFront(Cluster.prototype, "live", (own, self) => async (asked, key, signal) => {
    const object = asked === kind ? (self as Cluster).state.get(kind, key) : undefined;
    return object ? { found: true, object } : own(asked, key, signal);
  });
}

/** Changes of these kinds wake no bind. */
function deafTo(...kinds: string[]): () => void {
  return inFront(
    Watchpoints.prototype,
    "watch",
    (own) => (points, wake) =>
      own(
        points.filter(({ kind }: { kind: string }) => !kinds.includes(kind)),
        wake,
      ),
  );
}

export const bindingPlants: readonly Plant[] = [
  { name: "believes its cache of Pods before it writes", of: "7.1", patch: () => cached("pod") },
  { name: "believes its cache of claims before it writes", of: "7.1", patch: () => cached("claim") },
  {
    name: "plans on what is assumed for another",
    of: "7.2",
    patch: () => {
      const undo = [
        inFront(VolumeTable.prototype, "assume", nothing),
        inFront(Reservations.prototype, "assume", (own) => (pod, plan) => ({ ...own(pod, plan), ok: true })),
      ];
      return () => {
        for (const one of undo) one();
      };
    },
  },
  {
    name: "writes volumes under no version",
    of: "7.3",
    adapt: rewriting((request, body) => (kindOf(request) === "claimRef" ? withoutVersion(body) : body)),
  },
  {
    name: "writes selected-node under no version",
    of: "7.3",
    adapt: rewriting((request, body) => (kindOf(request) === "selectedNode" ? withoutVersion(body) : body)),
  },
  {
    name: "marks volumes as its own that a user reserved",
    of: "7.3",
    patch: () =>
      inFront(
        ApiKubeWriter.prototype,
        "claimVolume",
        (own) => (write) => own({ ...write, marksBoundByController: true }),
      ),
  },
  {
    name: "marks no volume as its own",
    of: "7.3",
    patch: () =>
      inFront(
        ApiKubeWriter.prototype,
        "claimVolume",
        (own) => (write) => own({ ...write, marksBoundByController: false }),
      ),
  },
  { name: "writes over whoever was faster", of: "7.4", adapt: overwriting },
  {
    name: "takes a conflict for success",
    of: "7.4",
    patch: () =>
      inFront(ApiKubeWriter.prototype, "claimVolume", (own) => async (write) => {
        const outcome = await own(write);
        return outcome.status === 409 ? { ok: true } : outcome;
      }),
  },
  {
    name: "takes back what the PV controller has bound",
    of: "7.4",
    patch: () =>
      inFront(Cluster.prototype, "live", (own) => async (kind, key, signal) => {
        const read = await own(kind, key, signal);
        return kind === "volume" && read.found && read.object.phase === "Bound"
          ? { ...read, object: { ...read.object, phase: "Available" } }
          : read;
      }),
  },
  {
    name: "takes a user's reservation back whole",
    of: "7.4",
    patch: () =>
      inFront(ApiKubeWriter.prototype, "releaseVolume", (own) => (write) => own({ ...write, keepsName: false })),
  },
  {
    name: "takes claims for bound once their volumes are claimed",
    of: "7.5",
    spoil: ({ cluster: { state } }) => {
      inFront(state, "get", (own) => (kind, key) => {
        const claim = own(kind, key);
        if (kind !== "claim" || !claim || claim.volumeName !== undefined) return claim;
        const volume = [...state.keys("volume")].find((name) => own("volume", name)?.claimRef?.uid === claim.uid);
        return volume === undefined ? claim : { ...claim, volumeName: volume, bindCompleted: true };
      });
    },
  },
  { name: "does not see its claims being bound while it waits", of: "7.5", patch: () => deafTo("claim", "volume") },
  { name: "does not see its Pod go while it waits", of: "7.5", patch: () => deafTo("pod") },
  {
    name: "binds a Pod that kube-scheduler schedules anew",
    of: "7.5",
    patch: () => inFront(Binder.prototype, "filterSeen", nothing),
  },
  {
    name: "binds whichever Pod bears the name",
    of: "7.6",
    adapt: rewriting((request, body) => {
      if (kindOf(request) !== "binding") return body;
      const { uid: _, ...metadata } = body.metadata;
      return { ...body, metadata };
    }),
  },
  {
    name: "takes a refused binding for done",
    of: "7.6",
    patch: () =>
      inFront(ApiKubeWriter.prototype, "bindPod", (own) => async (write) => {
        const outcome = await own(write);
        return outcome.ok || outcome.status === 409 ? { ok: true } : outcome;
      }),
  },
  {
    name: "takes a binding without an answer for done",
    of: "7.6",
    patch: () =>
      inFront(ApiKubeWriter.prototype, "bindPod", (own) => async (write) => {
        const outcome = await own(write);
        return outcome.ok || outcome.ambiguous ? { ok: true } : outcome;
      }),
  },
  {
    name: "takes selected-node back with the volumes",
    of: "7, last paragraph",
    adapt: rewriting((request, body) => {
      if (kindOf(request) !== "release") return body;
      return {
        ...body,
        metadata: {
          ...body.metadata,
          annotations: { ...body.metadata.annotations, "volume.kubernetes.io/selected-node": null },
        },
      };
    }),
  },
  {
    name: "wakes a Pod twice",
    of: "8",
    patch: () =>
      inFront(ApiKubeWriter.prototype, "wakePod", (own) => async (write) => {
        await own(write);
        return own(write);
      }),
  },
  {
    name: "wakes nobody",
    of: "8",
    patch: () => inFront(ApiKubeWriter.prototype, "wakePod", () => async () => ({ ok: true })),
  },
];
