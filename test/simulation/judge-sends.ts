/**
 * What a Berth sends, at the moment in which it is sent: right by its own cache, which excuses it from knowing what it cannot know.
 */
import type { HttpRequest } from "../../src/runtime/runtime.ts";
import type { ClaimKey, ClaimUid, NodeName, VolumeName } from "../../src/scheduling/names.ts";
import type { ClusterState } from "../../src/scheduling/state.ts";
import { isAllowed } from "../support/api-calls.ts";
import type { Life } from "./clock.ts";
import { reaches } from "./cluster.ts";
import type { Judge } from "./judge.ts";
import type { BindCall } from "./judge-calls.ts";
import type { Replica } from "./replica.ts";
import type { Write } from "./server.ts";
import { kindOf } from "./trigger.ts";
import type { World } from "./world.ts";

export class SendJudge {
  readonly #world: World;
  readonly #judge: Judge;
  /** The incarnation that sent each write. */
  readonly #senders = new WeakMap<HttpRequest, Life>();

  constructor(world: World, judge: Judge) {
    this.#world = world;
    this.#judge = judge;
  }

  sent(replica: Replica, request: HttpRequest): void {
    if (!isAllowed(request)) this.#judge.find("every call is among the rights", `${request.method} ${request.path}`);
    if (request.method === "GET") return;
    this.#senders.set(request, replica.life);
    const kind = kindOf(request);
    if (kind === "claimRef") this.#claimRef(replica, request);
    if (kind === "binding") this.#binding(replica, request);
    else if (request.path.endsWith("/status")) this.#wake(replica, request);
  }

  /** What is written is promised before, to this claim and so to no other. */
  #claimRef({ name, berth }: Replica, { path, body }: HttpRequest): void {
    const state = berth?.cluster.state;
    const volume = path.slice(path.lastIndexOf("/") + 1);
    const { spec, metadata } = JSON.parse(String(body));
    const { claimRef } = spec;
    if (!state || isVolumePromised(state, volume, claimRef.uid)) return;
    // The promise has ended while it waited to be sent again: another has the volume, and the server knows.
    const shown = state.volumes.get(volume as VolumeName)?.resourceVersion;
    if (Number(shown) > Number(metadata.resourceVersion)) return;
    const other = state.reservations.assumedFor(volume as VolumeName)?.claim;
    const text = other === undefined ? "nobody" : `${other}`;
    this.#judge.find(
      "what is written is promised before",
      `${name} claims ${volume} for ${claimRef.name}, promised to ${text}`,
    );
  }

  /** A write took effect: as long as its sender lives, what it made is promised, or shown by the watch. */
  tookEffect({ by, request, after }: Write, askers: readonly BindCall[]): void {
    const replica = this.#world.replicas.find(({ name }) => name === by);
    const state = replica?.berth?.cluster.state;
    if (!replica || !state || replica.life !== this.#senders.get(request)) return;
    const kind = kindOf(request);
    const { name, namespace, uid } = after.metadata;
    const claimUid = kind === "claimRef" ? after.spec.claimRef.uid : uid;
    if (kind !== "release") this.#isLate(replica.life, claimUid, askers);
    const isKept =
      kind === "claimRef"
        ? isVolumePromised(state, name, after.spec.claimRef.uid)
        : kind !== "selectedNode" || isNodePromised(state, { key: `${namespace}/${name}` as ClaimKey, uid }, request);
    if (!isKept)
      this.#judge.find("what is written is promised until the watch shows it", `${by} wrote ${kind} ${name}`);
  }

  /** What was gone before the bind call came is not written for: a live read would have shown it (decision 20). */
  #isLate(life: Life, claimUid: string, askers: readonly BindCall[]): void {
    const { calls, goneAt } = this.#judge;
    const asked = askers.flatMap(({ uid, pod }) => {
      const at = calls.firstAskedAt(life, uid);
      return at === undefined ? [] : [{ at, pod, goneAt: goneAt.get(uid) ?? Number.POSITIVE_INFINITY }];
    });
    if (asked.length === 0) return;
    const claimGoneAt = goneAt.get(claimUid) ?? Number.POSITIVE_INFINITY;
    if (asked.some((call) => call.goneAt >= call.at && claimGoneAt >= call.at)) return;
    this.#judge.find("nothing is written for what was gone before", `${life.name}: ${asked.map(({ pod }) => pod)}`);
  }

  #binding(replica: Replica, request: HttpRequest): void {
    const state = replica.berth?.cluster.state;
    const { metadata, target } = JSON.parse(String(request.body));
    const { uid, namespace, name } = metadata;
    const { calls } = this.#judge;
    const find = (invariant: string, text: string): void => {
      this.#judge.find(
        invariant,
        `${replica.name} sends the binding of ${namespace}/${name} to ${target.name}: ${text}`,
      );
    };
    const filteredAt = calls.filteredAt.get(uid);
    const askedAt = calls.askedAt.get(uid);
    if (filteredAt !== undefined && askedAt !== undefined && filteredAt > askedAt) {
      find("no Pod is bound after a newer filter call", `filter at ${filteredAt}, bind at ${askedAt}`);
    }
    if (!state) return;
    const node = state.get("node", target.name);
    for (const key of calls.claimsOf(uid)) {
      const claim = state.get("claim", key);
      const volume = claim?.volumeName === undefined ? undefined : state.volumes.get(claim.volumeName);
      if (!claim?.bindCompleted || !volume) {
        find("a Pod is bound after its claims", `${key} is not bound by its own cache`);
        return;
      }
      const there = this.#world.server.get("persistentvolumes", volume.name);
      const labels = node && Object.fromEntries(node.labels);
      if (!labels || (there && !reaches(there, { metadata: { labels } }))) {
        find("a Pod sits where its volumes are", `${volume.name} is elsewhere by its own cache`);
      }
    }
  }

  #wake(replica: Replica, request: HttpRequest): void {
    const { metadata } = JSON.parse(String(request.body));
    const filteredAt = this.#judge.calls.filteredBy(replica.life, metadata.uid);
    const find = (text: string): void =>
      this.#judge.find("wakes are few", `${replica.name} wakes ${request.path}: ${text}`);
    if (filteredAt === undefined) find("nobody asked for it");
    else if (this.#world.clock.now - filteredAt < 2_000)
      find(`a filter call came ${this.#world.clock.now - filteredAt} ms ago`);
    if (replica.berth?.cluster.state.get("pod", `${metadata.namespace}/${metadata.name}`)?.nodeName)
      find("it is placed");
  }
}

export function isVolumePromised(state: ClusterState, name: string, uid: string): boolean {
  const assumption = state.reservations.of(uid as ClaimUid);
  if (assumption?.target.kind === "volume" && assumption.target.volume === name) return true;
  const cached = state.volumes.get(name as VolumeName);
  return cached?.claimRef?.uid === uid;
}

function isNodePromised(
  state: ClusterState,
  { key, uid }: { key: ClaimKey; uid: string },
  { body }: HttpRequest,
): boolean {
  const node = Object.values(JSON.parse(String(body)).metadata.annotations)[0] as NodeName;
  const assumption = state.reservations.of(uid as ClaimUid);
  if (assumption?.target.kind === "provision" && assumption.node === node) return true;
  const cached = state.get("claim", key);
  return cached?.uid !== uid || cached.selectedNode === node || cached.volumeName !== undefined;
}
