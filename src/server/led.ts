/** The cluster and the writes as one of several Berths has them: ready, and let out, while they are its own to decide. */
import type {
  KubeWriter,
  NodeSelection,
  PodAssignment,
  PodWake,
  RecordedEvent,
  VolumeClaiming,
  VolumeRelease,
  WriteOutcome,
} from "../binding/ports.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { ClaimKey, ClaimUid } from "../scheduling/names.ts";
import type { Kind, ObjectKey } from "../scheduling/objects.ts";
import type { Leadership, Readiness } from "./parts.ts";

const withheld: WriteOutcome = { ok: false, message: "this Berth does not lead", ambiguous: false };

/** @param isOurs  asked before the cluster is: a follower's cache is ready too, and no ground for an answer */
export function ledCluster(cluster: Cluster, isOurs: () => Readiness) {
  return {
    state: cluster.state,
    readiness: (): Readiness => {
      const standing = isOurs();
      return standing.ready ? cluster.readiness() : standing;
    },
    ages: () => cluster.ages(),
    live: <K extends Kind>(kind: K, key: ObjectKey, signal: AbortSignal) => cluster.live(kind, key, signal),
    subscribe: (listener: Parameters<Cluster["subscribe"]>[0]) => cluster.subscribe(listener),
  };
}

/**
 * What places a Pod stays free: a Binding names the Pod's uid and follows claims that are bound already, and a Pod without claims
 * is nobody's but the caller's (decision 2).
 */
export class LedWriter implements KubeWriter {
  readonly #writer: KubeWriter;
  readonly #leadership: Pick<Leadership, "mayWrite" | "mayWork">;

  constructor(writer: KubeWriter, leadership: Pick<Leadership, "mayWrite" | "mayWork">) {
    this.#writer = writer;
    this.#leadership = leadership;
  }

  async claimVolume(write: VolumeClaiming): Promise<WriteOutcome> {
    return this.#leadership.mayWrite() ? this.#writer.claimVolume(write) : withheld;
  }

  async releaseVolume(write: VolumeRelease): Promise<WriteOutcome> {
    return this.#leadership.mayWrite() ? this.#writer.releaseVolume(write) : withheld;
  }

  async selectNode(write: NodeSelection): Promise<WriteOutcome> {
    return this.#leadership.mayWrite() ? this.#writer.selectNode(write) : withheld;
  }

  async wakePod(write: PodWake): Promise<WriteOutcome> {
    return this.#leadership.mayWork() ? this.#writer.wakePod(write) : withheld;
  }

  bindPod(write: PodAssignment): Promise<WriteOutcome> {
    return this.#writer.bindPod(write);
  }

  recordEvent(event: RecordedEvent): Promise<WriteOutcome> {
    return this.#writer.recordEvent(event);
  }

  repeatEvent(event: Pick<RecordedEvent, "namespace" | "name" | "count">): Promise<WriteOutcome> {
    return this.#writer.repeatEvent(event);
  }

  lastWarning(claim: ClaimKey, uid: ClaimUid): Promise<string | undefined> {
    return this.#writer.lastWarning(claim, uid);
  }
}
