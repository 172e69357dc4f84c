/**
 * A CSI driver with its external-provisioner: pools of storage by topology segment, volumes cut out of them on demand.
 * Source: kubernetes-csi/external-provisioner pkg/controller/controller.go, sig-storage-lib-external-provisioner v13.
 */
import { type Bytes, formatBytes, parseBytes } from "../scheduling/quantity.ts";
import type { Agent } from "./agent.ts";
import { Backend, type DriverConfiguration } from "./backend.ts";
import { publishCapacity, registerDriver } from "./driver-objects.ts";
import {
  annotation,
  type Claim,
  classOf,
  keyOf,
  type Node,
  parseKey,
  type StorageClass,
  type Volume,
} from "./objects.ts";
import type { Worked } from "./work-queue.ts";

/** Claims provisioned and volumes deleted at the same time; external-provisioner's default. */
const workers = 100;

interface Wanted {
  readonly claim: Claim;
  readonly storageClass: StorageClass;
  /** `undefined` for a claim that waits for no consumer. */
  readonly node: string | undefined;
}

export class Provisioner {
  readonly backend: Backend;
  readonly #agent: Agent;
  readonly #driver: DriverConfiguration;
  readonly #publish: () => void;
  /** Claims whose volume is being made: seen to their end, where it was begun, even when they or the node are deleted meanwhile. */
  readonly #inProgress = new Map<string, { readonly claim: Claim; readonly segment: string }>();

  constructor(agent: Agent, driver: DriverConfiguration) {
    this.#agent = agent;
    this.#driver = driver;
    this.backend = new Backend(driver, agent.runtime, agent.signal);
    const watched = ["persistentvolumeclaims", "persistentvolumes", "storageclasses", "nodes"] as const;
    const claims = agent.queue([...watched, "csinodes"], (key) => this.#provision(key), workers);
    agent.feed("persistentvolumeclaims", claims, ({ metadata }) => [keyOf(metadata)]);
    const volumes = agent.queue(watched, (name) => this.#deleteReleased(name), workers);
    agent.feed("persistentvolumes", volumes, ({ metadata }) => [metadata.name]);
    registerDriver(agent, driver);
    this.#publish = publishCapacity(agent, driver, this.backend);
  }

  async #provision(key: string): Promise<Worked> {
    const wanted = this.#find(key);
    if (wanted === "classMissing") return "retry";
    if (!wanted) return "done";
    const { claim, storageClass, node: name } = wanted;
    const node = name === undefined ? undefined : this.#agent.informer("nodes").get(name);
    const begun = this.#inProgress.get(key);
    if (name !== undefined && begun === undefined) {
      // A CSINode goes with its Node.
      if (!node || !this.#agent.informer("csinodes").get(name))
        return this.#giveUp(claim, `failed to get selected CSINode ${name}: csinode "${name}" not found`);
      if (!this.#runsOn(name))
        return this.#fail(claim, `error generating accessibility requirements: no topology key found for node ${name}`);
    }
    const segment = begun?.segment ?? this.#segmentFor(wanted, node);
    if (segment === undefined)
      return this.#fail(claim, "rpc error: code = InvalidArgument desc = no accessible topology");

    const bytes = parseBytes(claim.spec.resources?.requests?.["storage"] ?? "0") ?? (0n as Bytes);
    this.#say(claim, "Normal", "Provisioning", `External provisioner is provisioning volume for claim "${key}"`);
    const created = await this.backend.create({ claim, uid: claim.metadata.uid, segment, bytes });
    this.#publish();
    if (!created.ok && created.code === "DeadlineExceeded") this.#inProgress.set(key, { claim, segment });
    else this.#inProgress.delete(key);
    if (!created.ok) {
      const message = `failed to provision volume with StorageClass "${storageClass.metadata.name}": rpc error: code = ${created.code} desc = ${created.message}`;
      return created.code === "ResourceExhausted" && node ? this.#giveUp(claim, message) : this.#fail(claim, message);
    }
    return this.#makeVolume(wanted, created.segment, bytes);
  }

  #find(key: string): Wanted | "classMissing" | undefined {
    const claim = this.#agent.informer("persistentvolumeclaims").get(key) ?? this.#inProgress.get(key)?.claim;
    const annotations = claim?.metadata.annotations;
    // Whether the claim is being deleted is not asked: its Pod may still use it.
    if (!claim || claim.spec.volumeName) return undefined;
    if (annotations?.[annotation.storageProvisioner] !== this.#driver.name) return undefined;
    const storageClass = this.#agent.informer("storageclasses").get(classOf(claim));
    // An error of the claim's, which is tried again: it may come (controller.go shouldProvision).
    if (!storageClass) return "classMissing";
    if (storageClass.provisioner !== this.#driver.name) return undefined;
    const node = annotations[annotation.selectedNode] || undefined;
    return storageClass.volumeBindingMode === "WaitForFirstConsumer" && !node
      ? undefined
      : { claim, storageClass, node };
  }

  #runsOn(name: string): boolean {
    const drivers = this.#agent.informer("csinodes").get(name)?.spec?.drivers ?? [];
    return drivers.some((driver) => driver.name === this.#driver.name);
  }

  /** The segment of the node, or the emptiest one that the class allows where no node is asked for. */
  #segmentFor({ storageClass }: Wanted, node: Node | undefined): string | undefined {
    const key = this.backend.topologyKey;
    const terms = storageClass.allowedTopologies ?? [];
    const isAllowed = (segment: string): boolean =>
      terms.length === 0 ||
      terms.some((term) =>
        (term.matchLabelExpressions ?? []).some((one) => one.key === key && one.values.includes(segment)),
      );
    const segments = node ? [node.metadata.labels?.[key] ?? ""] : this.backend.segments();
    const able = segments.filter((segment) => this.backend.has(segment) && isAllowed(segment));
    return able.sort((a, b) => (this.backend.free(a) > this.backend.free(b) ? -1 : 1))[0];
  }

  async #makeVolume({ claim, storageClass }: Wanted, segment: string, bytes: Bytes): Promise<Worked> {
    const { name, namespace = "", uid, resourceVersion } = claim.metadata;
    const driver = this.#driver.name;
    const term = { matchExpressions: [{ key: this.backend.topologyKey, operator: "In", values: [segment] }] };
    const made = await this.#agent.client.create("persistentvolumes", {
      metadata: { name: `pvc-${uid}`, annotations: { [annotation.provisionedBy]: driver } },
      spec: {
        capacity: { storage: claim.spec.resources?.requests?.["storage"] ?? formatBytes(bytes) },
        accessModes: claim.spec.accessModes ?? [],
        volumeMode: claim.spec.volumeMode ?? "Filesystem",
        storageClassName: storageClass.metadata.name,
        persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? "Delete",
        claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid, resourceVersion },
        csi: { driver, volumeHandle: uid },
        nodeAffinity: { required: { nodeSelectorTerms: [term] } },
      },
    });
    if (!made.ok && made.reason !== "AlreadyExists") return "retry";
    this.#say(claim, "Normal", "ProvisioningSucceeded", `Successfully provisioned volume pvc-${uid}`);
    return "done";
  }

  /** A final error that another node may not have: the scheduler is asked for one by taking the node off the claim. */
  async #giveUp(claim: Claim, message: string): Promise<Worked> {
    this.#say(claim, "Warning", "ProvisioningFailed", message);
    const { [annotation.selectedNode]: _node, ...annotations } = claim.metadata.annotations ?? {};
    const freed = { ...claim, metadata: { ...claim.metadata, annotations } };
    const written = await this.#agent.client.update("persistentvolumeclaims", freed);
    return written.ok || written.status === 404 ? "done" : "retry";
  }

  #fail(claim: Claim, message: string): Worked {
    this.#say(claim, "Warning", "ProvisioningFailed", message);
    return "retry";
  }

  async #deleteReleased(name: string): Promise<Worked> {
    const volume = this.#agent.informer("persistentvolumes").get(name);
    if (!volume || !this.#isOurs(volume) || volume.status?.phase !== "Released") return "done";
    if (volume.spec.persistentVolumeReclaimPolicy !== "Delete") return "done";
    this.backend.remove(volume.spec.csi?.volumeHandle ?? "");
    this.#publish();
    const { uid } = volume.metadata;
    const deleted = await this.#agent.client.delete("persistentvolumes", parseKey(name), { uid });
    return deleted.ok || deleted.status === 404 || deleted.status === 409 ? "done" : "retry";
  }

  #isOurs({ metadata }: Volume): boolean {
    return metadata.annotations?.[annotation.provisionedBy] === this.#driver.name;
  }

  #say(object: Claim, type: "Normal" | "Warning", reason: string, message: string): void {
    this.#agent.events.record({ kind: "PersistentVolumeClaim", object, type, reason, message });
  }
}
