/** What the PV controller writes when it binds: four writes, of which each is left out when it was done before. */
import type { Agent } from "./agent.ts";
import type { Result } from "./client.ts";
import { annotation, type Claim, type Volume } from "./objects.ts";
import { isMeantFor } from "./volume-match.ts";

const done: Result<undefined> = { ok: true, value: undefined };

export class ClaimWrites {
  readonly #agent: Agent;

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  /** PV spec, PV status, PVC spec, PVC status; the first that fails ends it. Source: pv_controller.go bind. */
  async bind(claim: Claim, volume: Volume): Promise<Result<unknown>> {
    const reserved = await this.#reserve(volume, claim);
    if (!reserved.ok) return reserved;
    const bound = await setVolumePhase(this.#agent, reserved.value, "Bound");
    if (!bound.ok) return bound;
    const named = await this.#nameVolume(claim, volume);
    return named.ok ? this.#finish(named.value, volume) : named;
  }

  async #reserve(volume: Volume, claim: Claim): Promise<Result<Volume>> {
    const { claimRef } = volume.spec;
    const { namespace = "", name, uid, resourceVersion } = claim.metadata;
    if (isMeantFor(volume, claim) && claimRef?.uid === uid) return { ok: true, value: volume };
    const reference = { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid, resourceVersion };
    // Whoever reserved it by hand gets it back so when the claim goes elsewhere: the mark tells the two apart.
    const marks = isMeantFor(volume, claim) ? {} : { [annotation.boundByController]: "yes" };
    return this.#updateVolume({
      ...volume,
      metadata: { ...volume.metadata, annotations: { ...volume.metadata.annotations, ...marks } },
      spec: { ...volume.spec, claimRef: reference },
    });
  }

  async #updateVolume(volume: Volume): Promise<Result<Volume>> {
    const written = await this.#agent.client.update("persistentvolumes", volume);
    if (written.ok) this.#agent.informer("persistentvolumes").remember(written.value);
    return written;
  }

  async #nameVolume(claim: Claim, { metadata: { name } }: Volume): Promise<Result<Claim>> {
    const { annotations } = claim.metadata;
    const isNamed = claim.spec.volumeName === name;
    if (isNamed && annotations?.[annotation.bindCompleted] !== undefined) return { ok: true, value: claim };
    const marks = {
      ...(isNamed ? {} : { [annotation.boundByController]: "yes" }),
      [annotation.bindCompleted]: "yes",
    };
    return this.#updateClaim({
      ...claim,
      metadata: { ...claim.metadata, annotations: { ...annotations, ...marks } },
      spec: { ...claim.spec, volumeName: name },
    });
  }

  async #updateClaim(claim: Claim): Promise<Result<Claim>> {
    const written = await this.#agent.client.update("persistentvolumeclaims", claim);
    if (written.ok) this.#agent.informer("persistentvolumeclaims").remember(written.value);
    return written;
  }

  async #finish(claim: Claim, { spec }: Volume): Promise<Result<unknown>> {
    if (claim.status?.phase === "Bound") return done;
    const attributes = spec.volumeAttributesClassName;
    const status = {
      ...claim.status,
      phase: "Bound",
      accessModes: spec.accessModes ?? [],
      capacity: spec.capacity ?? {},
      ...(attributes ? { currentVolumeAttributesClassName: attributes } : {}),
    };
    return this.#updateStatus({ ...claim, status });
  }

  async setClass(claim: Claim, storageClassName: string): Promise<Result<unknown>> {
    return this.#updateClaim({ ...claim, spec: { ...claim.spec, storageClassName } });
  }

  async setPhase(claim: Claim, phase: "Pending" | "Lost"): Promise<Result<unknown>> {
    if (claim.status?.phase === phase) return done;
    return this.#updateStatus({ ...claim, status: { phase } });
  }

  async #updateStatus(claim: Claim): Promise<Result<unknown>> {
    const written = await this.#agent.client.updateStatus("persistentvolumeclaims", claim);
    if (written.ok) this.#agent.informer("persistentvolumeclaims").remember(written.value);
    return written;
  }

  /** Names the external provisioner that is to act; from then on the claim is its business. */
  async handToProvisioner(claim: Claim, provisioner: string): Promise<Result<unknown>> {
    const message = `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;
    const remark = { kind: "PersistentVolumeClaim", object: claim, type: "Normal" } as const;
    this.#agent.events.record({ ...remark, reason: "ExternalProvisioning", message });
    const { annotations } = claim.metadata;
    if (annotations?.[annotation.storageProvisioner] === provisioner) return this.setPhase(claim, "Pending");
    const marks = { [annotation.storageProvisioner]: provisioner, [annotation.betaStorageProvisioner]: provisioner };
    return this.#updateClaim({ ...claim, metadata: { ...claim.metadata, annotations: { ...annotations, ...marks } } });
  }
}

export async function setVolumePhase(
  agent: Agent,
  volume: Volume,
  phase: "Available" | "Bound" | "Released" | "Failed",
): Promise<Result<Volume>> {
  if (volume.status?.phase === phase) return { ok: true, value: volume };
  const written = await agent.client.updateStatus("persistentvolumes", { ...volume, status: { phase } });
  if (written.ok) agent.informer("persistentvolumes").remember(written.value);
  return written;
}
