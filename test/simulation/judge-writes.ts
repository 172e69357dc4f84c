/** Every write of a Berth as the server takes it: of a form that a bind may write, asked for, and right for the cluster it meets. */
import type { HttpRequest } from "../../src/runtime/runtime.ts";
import type { Body } from "../binding/world.ts";
import { whyNotAllowed } from "./allowed.ts";
import { claimsOf, giOf, isBound, reaches, selectedNode } from "./cluster.ts";
import type { Judge } from "./judge.ts";
import type { BindCall } from "./judge-calls.ts";
import type { Plural, Write } from "./server.ts";
import type { World } from "./world.ts";

const byController = "pv.kubernetes.io/bound-by-controller";
/** Between the last write of one leader and the first of the next (decision 22). */
const gapMinMs = 1_000;
/** For so long after something was meddled with a Berth may not know: a write may be on its way for as long. */
const raceMs = 15_000;

export class WriteJudge {
  readonly #world: World;
  readonly #judge: Judge;
  #lastVolumeWrite: { readonly by: string; readonly at: number } | undefined;
  readonly #wokenAt = new Map<string, number>();
  readonly #wakes = new WeakSet<HttpRequest>();
  /** Uids of the claims that a Berth wrote into each volume. */
  readonly ours = new Map<string, string>();

  constructor(world: World, judge: Judge) {
    this.#world = world;
    this.#judge = judge;
  }

  see(write: Write): void {
    if (write.by.startsWith("berth")) this.#seeOurs(write);
    else if (write.plural === "persistentvolumes" || write.plural === "persistentvolumeclaims")
      this.#seeAnybodys(write);
  }

  #seeOurs(write: Write): void {
    const { request, by, plural, subresource, before, after, status } = write;
    const why = whyNotAllowed(request);
    if (why !== undefined) {
      this.#judge.find(
        "a Berth writes only what a bind may write",
        `${by} ${request.method} ${request.path} ${request.body}: ${why}`,
      );
      return;
    }
    if (status >= 300) return;
    const tookEffect = after?.metadata.resourceVersion !== before?.metadata.resourceVersion;
    if (plural === "pods" && subresource === "status") {
      this.#seeWake(write);
      return;
    }
    if (plural === "pods" && subresource === "binding") {
      this.#seeBinding(write);
      return;
    }
    if (plural !== "persistentvolumes" && plural !== "persistentvolumeclaims") return;
    this.#seeLead(by);
    if (!tookEffect || !after) return;
    this.#judge.sends.tookEffect(write, this.#askersOf(write));
    if (plural === "persistentvolumeclaims") this.#seeSelection(write);
    else if (after.spec.claimRef?.uid !== undefined) this.#seeClaiming(write);
    else this.#seeRelease(write);
  }

  #seeClaiming({ by, key, before, after }: Write): void {
    const { uid, namespace, name } = after.spec.claimRef;
    const find = (invariant: string, text: string): void =>
      this.#judge.find(invariant, `${by} claims ${key} for ${namespace}/${name}: ${text}`);
    const other = before.spec.claimRef;
    if (other && (other.name !== name || (other.uid !== undefined && other.uid !== uid))) {
      find("no volume is claimed for two claims", `it was ${other.namespace}/${other.name}'s`);
    }
    if (
      before.status?.phase !== "Available" &&
      before.status?.phase !== "Pending" &&
      before.status !== undefined &&
      !before.spec.claimRef?.uid
    ) {
      find("only what is free is claimed", `its phase is ${before.status?.phase}`);
    }
    // No race excuses it: the write stands on the version that it read.
    if (before.metadata.deletionTimestamp !== undefined) {
      find("only what is free is claimed", "it is being deleted");
    }
    const marked = after.metadata.annotations?.[byController] !== undefined;
    if (marked === (other !== undefined) && !before.metadata.annotations?.[byController]) {
      find("a volume is marked just where no user reserved it", marked ? "marked" : "not marked");
    }
    this.ours.set(key, uid);
    const claim = this.#world.server.get("persistentvolumeclaims", `${namespace}/${name}`);
    if (claim?.metadata.uid !== uid) {
      if (!this.#isRace(by, "persistentvolumeclaims", `${namespace}/${name}`) && !this.#wentLately(uid))
        find("a claimRef names a claim that exists", "it does not");
      return;
    }
    if (!suits(after, claim))
      find("a volume suits its claim", `${JSON.stringify(after.spec)} ${JSON.stringify(claim.spec)}`);
    const calls = this.#callsFor(`${namespace}/${name}`);
    if (calls.length === 0) {
      find("nothing is written unasked", "no bind call mounts it");
      return;
    }
    if (!calls.some(({ node }) => this.#reachesOrRaces(by, after, node))) {
      find("a volume lies where its Pod goes", `asked for on ${calls.map(({ node }) => node)}`);
    }
  }

  #seeRelease({ by, key, before, after }: Write): void {
    const find = (invariant: string, text: string): void =>
      this.#judge.find(invariant, `${by} releases ${key}: ${text}`);
    const { claimRef } = before.spec;
    if (before.status?.phase === "Bound")
      find("what is bound is never taken back", `it was bound to ${claimRef?.name}`);
    if (
      claimRef?.uid !== undefined &&
      this.ours.get(key) !== claimRef.uid &&
      !before.metadata.annotations?.[byController]
    ) {
      find("what others wrote is never taken back", `${claimRef.name} was written by somebody else`);
    }
    const isUsers = claimRef && !before.metadata.annotations?.[byController];
    if (isUsers && after.spec.claimRef?.name !== claimRef.name)
      find("a user's reservation outlives a bind", "it is gone");
    if (!isUsers && after.spec.claimRef) find("a volume is given back whole", JSON.stringify(after.spec.claimRef));
    const user = this.#world.server.all("pods").find((pod) => {
      const node = this.#world.server.get("nodes", pod.spec.nodeName ?? "");
      return (
        node &&
        claimRef &&
        reaches(before, node) &&
        claimsOf(pod).includes(`${claimRef.namespace}/${claimRef.name}`) &&
        !this.#isRace(by, "pods", `${pod.metadata.namespace}/${pod.metadata.name}`)
      );
    });
    if (user)
      find("what a placed Pod mounts is never taken back", `pod ${user.metadata.name} is on ${user.spec.nodeName}`);
  }

  #seeSelection({ by, key, before, after }: Write): void {
    const node = after.metadata.annotations?.[selectedNode];
    const find = (invariant: string, text: string): void =>
      this.#judge.find(invariant, `${by} selects ${node} for ${key}: ${text}`);
    const earlier = before.metadata.annotations?.[selectedNode];
    if (
      earlier !== undefined &&
      earlier !== node &&
      this.#world.server.get("nodes", earlier) &&
      !this.#isRace(by, "nodes", earlier)
    ) {
      find("selected-node is the provisioner's", `it was ${earlier}, which exists`);
    }
    if (before.spec.volumeName !== undefined)
      find("selected-node is for claims without a volume", `it has ${before.spec.volumeName}`);
    if (before.spec.storageClassName !== "csi")
      find("only what has a provisioner is provisioned", before.spec.storageClassName);
    if (!this.#callsFor(key).some((call) => call.node === node))
      find("nothing is written unasked", "no bind call asks for it");
  }

  #seeBinding({ by, request, after, key }: Write): void {
    const { metadata, target } = JSON.parse(String(request.body));
    const node: string = target.name;
    const find = (invariant: string, text: string): void =>
      this.#judge.find(invariant, `${by} binds ${key} to ${node}: ${text}`);
    if (!this.#judge.calls.binds.has(`${metadata.uid} ${node}`))
      find("nothing is written unasked", "no bind call asks for it");
    if (after?.metadata.uid !== metadata.uid) return;
    for (const claimKey of claimsOf(after)) {
      const claim = this.#world.server.get("persistentvolumeclaims", claimKey);
      if (this.#isRace(by, "persistentvolumeclaims", claimKey)) continue;
      if (!claim || !isBound(claim)) {
        find("a Pod is bound after its claims", `${claimKey} is not`);
        return;
      }
      const { volumeName } = claim.spec;
      const volume = this.#world.server.get("persistentvolumes", volumeName);
      if (this.#isRace(by, "persistentvolumes", volumeName)) continue;
      if (volume?.spec.claimRef?.uid !== claim.metadata.uid) {
        find("a Pod is bound after its claims", `${volumeName} is not ${claimKey}'s`);
        return;
      }
      if (!this.#reachesOrRaces(by, volume, node))
        find("a Pod sits where its volumes are", `${volumeName} is elsewhere`);
    }
  }

  #seeWake({ by, after, key, request }: Write): void {
    // Sent once, and on its way it became two.
    if (this.#wakes.has(request)) return;
    this.#wakes.add(request);
    const uid: string = after?.metadata.uid;
    const { now } = this.#world.clock;
    const last = this.#wokenAt.get(uid);
    if (last !== undefined && now - last < 1_000)
      this.#judge.find("wakes are few", `${by} wakes ${key} again after ${now - last} ms`);
    this.#wokenAt.set(uid, now);
    if (after?.spec.nodeName) return;
    if (this.#judge.calls.filteredAt.get(uid) === undefined)
      this.#judge.find("only who was refused is woken", `${by} wakes ${key}`);
  }

  #seeLead(by: string): void {
    const { now } = this.#world.clock;
    const last = this.#lastVolumeWrite;
    if (last && last.by !== by && now - last.at < gapMinMs) {
      this.#judge.find("one Berth writes at a time", `${last.by} wrote ${now - last.at} ms before ${by}`);
    }
    this.#lastVolumeWrite = { by, at: now };
  }

  /** The PV controller and whoever else: what two claims have is nobody's to have, whoever wrote last. */
  #seeAnybodys({ plural, after, by }: Write): void {
    if (plural !== "persistentvolumeclaims" || !after || !isBound(after)) return;
    const others = this.#world.server.all("persistentvolumeclaims").filter((other) => {
      return (
        other.metadata.uid !== after.metadata.uid && isBound(other) && other.spec.volumeName === after.spec.volumeName
      );
    });
    const volume = this.#world.server.get("persistentvolumes", after.spec.volumeName);
    const live = others.filter(
      ({ metadata }) => volume?.spec.claimRef?.uid === metadata.uid && after.status?.phase === "Bound",
    );
    const [other] = live;
    if (other)
      this.#judge.find(
        "no volume is bound to two claims",
        `${by}: ${after.spec.volumeName} to ${after.metadata.name} and ${other.metadata.name}`,
      );
  }

  #askersOf({ plural, key, after }: Write): BindCall[] {
    if (plural === "persistentvolumeclaims") return this.#callsFor(key);
    const { namespace, name } = after.spec.claimRef ?? {};
    return name === undefined ? [] : this.#callsFor(`${namespace}/${name}`);
  }

  /** The bind calls of Pods that mount the claim, those that are gone included. */
  #callsFor(claim: string): BindCall[] {
    return [...this.#judge.calls.binds.values()].filter(({ uid }) => this.#judge.calls.claimsOf(uid).includes(claim));
  }

  #reachesOrRaces(by: string, volume: Body, name: string): boolean {
    const node = this.#world.server.get("nodes", name);
    return this.#isRace(by, "nodes", name) || (node !== undefined && reaches(volume, node));
  }

  /** Whoever deleted it: a garbage collector too. */
  #wentLately(uid: string): boolean {
    const at = this.#judge.goneAt.get(uid);
    return at !== undefined && this.#world.clock.now - at < raceMs;
  }

  /** Whether somebody meddled with the object so lately that the Berth may not know. */
  #isRace(by: string, plural: Plural, key: string): boolean {
    const { operator, clock, network } = this.#world;
    const touchedAt = operator.touched.get(`${plural}/${key}`);
    if (touchedAt === undefined) return false;
    if (clock.now - touchedAt < raceMs) return true;
    const behindSince = network.behindSince(by, `/api/v1/${plural}`);
    return behindSince !== undefined && behindSince <= touchedAt + raceMs;
  }
}

function suits({ spec }: Body, claim: Body): boolean {
  const asked = claim.spec.resources.requests.storage;
  return spec.storageClassName === claim.spec.storageClassName && giOf(spec.capacity.storage) >= giOf(asked);
}
