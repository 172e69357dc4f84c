/** The PV controller's look at one volume. Source: pv_controller.go syncVolume, unbindVolume, reclaimVolume. */
import type { Agent } from "./agent.ts";
import { setVolumePhase } from "./claim-writes.ts";
import type { Result } from "./client.ts";
import { annotation, type Claim, keyOf, type Volume } from "./objects.ts";
import { hasSameVolumeMode } from "./volume-match.ts";

const done: Result<undefined> = { ok: true, value: undefined };

/** @param wakeClaim  asks for a look at the claim of that key, whose move is next */
export async function reconcileVolume(
  agent: Agent,
  volume: Volume,
  wakeClaim: (key: string) => void,
): Promise<Result<unknown>> {
  const { claimRef } = volume.spec;
  if (!claimRef?.uid || !claimRef.name) return setVolumePhase(agent, volume, "Available");
  const key = keyOf({ name: claimRef.name, ...(claimRef.namespace ? { namespace: claimRef.namespace } : {}) });
  const found = await findClaim(agent, volume, key);
  if (!found.ok) return found;
  const claim = found.value;
  if (!claim) return release(agent, volume);

  if (!claim.spec.volumeName) {
    if (hasSameVolumeMode(claim, volume)) wakeClaim(key);
    else sayMismatch(agent, volume, claim);
    return done;
  }
  if (claim.spec.volumeName === volume.metadata.name) return setVolumePhase(agent, volume, "Bound");
  const isDynamic = volume.metadata.annotations?.[annotation.provisionedBy] !== undefined;
  if (isDynamic && volume.spec.persistentVolumeReclaimPolicy === "Delete") return release(agent, volume);
  return unbind(agent, volume);
}

/** The claim of the claimRef's uid; gone only if a live read says so too, because the cache may be behind. */
async function findClaim(agent: Agent, { spec, status }: Volume, key: string): Promise<Result<Claim | undefined>> {
  const uid = spec.claimRef?.uid;
  const known = agent.informer("persistentvolumeclaims").get(key);
  if (known?.metadata.uid === uid) return { ok: true, value: known };
  if (status?.phase === "Released" || status?.phase === "Failed") return { ok: true, value: undefined };
  const [namespace = "", name = ""] = key.split("/");
  const live = await agent.client.get("persistentvolumeclaims", { namespace, name });
  if (live.ok) return { ok: true, value: live.value.metadata.uid === uid ? live.value : undefined };
  return live.status === 404 ? { ok: true, value: undefined } : live;
}

async function release(agent: Agent, volume: Volume): Promise<Result<unknown>> {
  const phase = volume.status?.phase;
  const released =
    phase === "Released" || phase === "Failed" ? undefined : await setVolumePhase(agent, volume, "Released");
  if (released && !released.ok) return released;
  const current = released?.value ?? volume;
  if (volume.spec.persistentVolumeReclaimPolicy !== "Delete") return done;
  // Whoever provisioned it deletes it; this controller has no plugin of its own that could.
  if (volume.metadata.annotations?.[annotation.provisionedBy] !== undefined) return done;
  const message = `error getting deleter volume plugin for volume "${volume.metadata.name}": no deletable volume plugin matched`;
  agent.events.record({
    kind: "PersistentVolume",
    object: volume,
    type: "Warning",
    reason: "VolumeFailedDelete",
    message,
  });
  return setVolumePhase(agent, current, "Failed");
}

/** The claim was bound to another volume: what this controller reserved is freed, what a user did keeps the name. */
async function unbind(agent: Agent, volume: Volume): Promise<Result<unknown>> {
  const { [annotation.boundByController]: mark, ...annotations } = volume.metadata.annotations ?? {};
  const { claimRef, ...spec } = volume.spec;
  const { uid: _uid, ...named } = claimRef ?? {};
  const freed: Volume =
    mark === undefined
      ? { ...volume, spec: { ...spec, claimRef: named } }
      : { ...volume, metadata: { ...volume.metadata, annotations }, spec };
  const written = await agent.client.update("persistentvolumes", freed);
  if (!written.ok) return written;
  agent.informer("persistentvolumes").remember(written.value);
  return setVolumePhase(agent, written.value, "Available");
}

/** Such a claim is never bound: nothing but a person can mend it. */
function sayMismatch(agent: Agent, volume: Volume, claim: Claim): void {
  const mode = (o: Claim | Volume): string => o.spec.volumeMode ?? "Filesystem";
  const name = volume.metadata.name;
  const remark = { type: "Warning", reason: "VolumeMismatch" } as const;
  agent.events.record({
    ...remark,
    kind: "PersistentVolume",
    object: volume,
    message: `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claim.metadata.name}" due to incompatible volumeMode.`,
  });
  agent.events.record({
    ...remark,
    kind: "PersistentVolumeClaim",
    object: claim,
    message: `Cannot bind to requested volume "${name}": incompatible volumeMode (${mode(claim)}, ${mode(volume)}).`,
  });
}
