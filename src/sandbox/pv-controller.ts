/**
 * The persistent volume controller of kube-controller-manager: ties claims and volumes together, and takes them apart.
 * Source: pkg/controller/volume/persistentvolume/pv_controller.go. Every write finishes what an earlier one began, so a
 * conflict or a crash between two of them is mended by the next look.
 */
import { compareText } from "../scheduling/names.ts";
import type { Agent } from "./agent.ts";
import { ClaimWrites } from "./claim-writes.ts";
import type { Result } from "./client.ts";
import {
  annotation,
  type Claim,
  classOf,
  isFullyBound,
  keyOf,
  noProvisioner,
  parseKey,
  type StorageClass,
} from "./objects.ts";
import { reconcileVolume } from "./pv-volumes.ts";
import { findVolumeFor, isMeantFor, satisfies } from "./volume-match.ts";
import { startVolumeProtection } from "./volume-protection.ts";
import type { Worked, WorkQueue } from "./work-queue.ts";

const claimPrefix = "claim:";
const volumePrefix = "volume:";

export class PvController {
  readonly #agent: Agent;
  readonly #writes: ClaimWrites;
  readonly #queue: WorkQueue;

  constructor(agent: Agent) {
    this.#agent = agent;
    this.#writes = new ClaimWrites(agent);
    const watched = ["persistentvolumes", "persistentvolumeclaims", "storageclasses"] as const;
    this.#queue = agent.queue(watched, (key) => this.#work(key));
    agent.feed("persistentvolumes", this.#queue, ({ metadata, spec }) => {
      const claim = spec.claimRef?.name ? [`${claimPrefix}${spec.claimRef.namespace}/${spec.claimRef.name}`] : [];
      return [`${volumePrefix}${metadata.name}`, ...claim];
    });
    agent.feed("persistentvolumeclaims", this.#queue, ({ metadata, spec }) => [
      `${claimPrefix}${keyOf(metadata)}`,
      ...(spec.volumeName ? [`${volumePrefix}${spec.volumeName}`] : []),
    ]);
    this.#wakeOthers();
    startVolumeProtection(agent);
  }

  /** A volume that becomes free, a class that appears and a claim that goes concern objects that do not change themselves. */
  #wakeOthers(): void {
    const claims = this.#agent.informer("persistentvolumeclaims");
    const volumes = this.#agent.informer("persistentvolumes");
    const wakeClaimsOf = (className: string): void => {
      for (const claim of claims.values()) {
        if (!claim.spec.volumeName && classOf(claim) === className)
          this.#queue.add(`${claimPrefix}${keyOf(claim.metadata)}`);
      }
    };
    volumes.listen(({ object }) => {
      if (!object.spec.claimRef && object.status?.phase === "Available") wakeClaimsOf(classOf(object));
    });
    this.#agent.informer("storageclasses").listen(({ object }) => {
      wakeClaimsOf(object.metadata.name);
      // Those that name none may get this one.
      wakeClaimsOf("");
    });
    claims.listen(({ type, object }) => {
      if (type !== "deleted") return;
      for (const { metadata, spec } of volumes.values()) {
        if (spec.claimRef?.uid === object.metadata.uid) this.#queue.add(`${volumePrefix}${metadata.name}`);
      }
    });
  }

  async #work(key: string): Promise<Worked> {
    const isClaim = key.startsWith(claimPrefix);
    if (isClaim) {
      const claim = this.#agent.informer("persistentvolumeclaims").get(key.slice(claimPrefix.length));
      if (!claim) return "done";
      return worked(
        await (isFullyBound(claim) || annotation.bindCompleted in (claim.metadata.annotations ?? {})
          ? this.#reconcileBound(claim)
          : this.#reconcileUnbound(claim)),
      );
    }
    const { name } = parseKey(key.slice(volumePrefix.length));
    const volume = this.#agent.informer("persistentvolumes").get(name);
    if (!volume) return "done";
    const wakeClaim = (claimKey: string): void => this.#queue.add(`${claimPrefix}${claimKey}`);
    return worked(await reconcileVolume(this.#agent, volume, wakeClaim));
  }

  /** Source: syncUnboundClaim. */
  async #reconcileUnbound(claim: Claim): Promise<Result<unknown>> {
    const volumes = this.#agent.informer("persistentvolumes");
    const name = claim.spec.volumeName;
    if (!name) return this.#findFor(claim);
    const volume = volumes.get(name);
    if (!volume) return this.#writes.setPhase(claim, "Pending");
    if (!volume.spec.claimRef) {
      return satisfies(volume, claim) ? this.#writes.bind(claim, volume) : this.#writes.setPhase(claim, "Pending");
    }
    return isMeantFor(volume, claim) ? this.#writes.bind(claim, volume) : this.#writes.setPhase(claim, "Pending");
  }

  async #findFor(claim: Claim): Promise<Result<unknown>> {
    const className = classOf(claim);
    const given = this.#defaultClassFor(claim);
    if (given !== undefined) return this.#writes.setClass(claim, given);
    const storageClass = this.#agent.informer("storageclasses").get(className);
    const hasNode = claim.metadata.annotations?.[annotation.selectedNode] !== undefined;
    const isDelayed = !hasNode && storageClass?.volumeBindingMode === "WaitForFirstConsumer";
    const volume = findVolumeFor(claim, this.#agent.informer("persistentvolumes").values(), isDelayed);
    if (volume) return this.#writes.bind(claim, volume);

    if (isDelayed) {
      this.#say(claim, "Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding");
    } else if (className === "") {
      const message = "no persistent volumes available for this claim and no storage class is set";
      this.#say(claim, "Normal", "FailedBinding", message);
    } else if (!storageClass) {
      const message = `storageclass.storage.k8s.io "${className}" not found`;
      this.#say(claim, "Warning", "ProvisioningFailed", message);
    } else if (storageClass.provisioner === noProvisioner) {
      this.#say(claim, "Warning", "ProvisioningFailed", `no volume plugin matched name: ${noProvisioner}`);
    } else return this.#writes.handToProvisioner(claim, storageClass.provisioner);
    return this.#writes.setPhase(claim, "Pending");
  }

  /** A claim made before there was a default class gets it later. Source: assignDefaultStorageClass. */
  #defaultClassFor({ metadata, spec }: Claim): string | undefined {
    if (spec.storageClassName !== undefined || metadata.annotations?.[annotation.betaClass] !== undefined)
      return undefined;
    const created = ({ metadata: { creationTimestamp = "" } }: StorageClass): string => creationTimestamp;
    const defaults = [...this.#agent.informer("storageclasses").values()]
      .filter((one) => one.metadata.annotations?.[annotation.defaultClass] === "true")
      .sort((a, b) => compareText(created(b), created(a)) || compareText(a.metadata.name, b.metadata.name));
    return defaults[0]?.metadata.name;
  }

  /** Source: syncBoundClaim. */
  async #reconcileBound(claim: Claim): Promise<Result<unknown>> {
    const name = claim.spec.volumeName;
    const volume = name ? this.#agent.informer("persistentvolumes").get(name) : undefined;
    const lose = (why: string): Promise<Result<unknown>> => {
      this.#say(claim, "Warning", "ClaimLost", why);
      return this.#writes.setPhase(claim, "Lost");
    };
    if (!name) return lose("Bound claim has lost reference to PersistentVolume. Data on the volume is lost!");
    if (!volume) return lose("Bound claim has lost its PersistentVolume. Data on the volume is lost!");
    const { claimRef } = volume.spec;
    if (!claimRef || claimRef.uid === claim.metadata.uid) return this.#writes.bind(claim, volume);
    const why = "Two claims are bound to the same volume, this one is bound incorrectly";
    this.#say(claim, "Warning", "ClaimMisbound", why);
    return this.#writes.setPhase(claim, "Lost");
  }

  #say(object: Claim, type: "Normal" | "Warning", reason: string, message: string): void {
    this.#agent.events.record({ kind: "PersistentVolumeClaim", object, type, reason, message });
  }
}

/** What is gone needs nothing; all else that failed is looked at again. */
function worked(result: Result<unknown>): Worked {
  return result.ok || result.status === 404 ? "done" : "retry";
}
