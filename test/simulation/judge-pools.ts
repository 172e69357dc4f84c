/** The drivers' side: nothing is provisioned but what a Berth has sent to that node, knowing what it can know of the pool. */
import type { VolumeName } from "../../src/scheduling/names.ts";
import type { Body } from "../binding/world.ts";
import { driver, giOf, selectedNode } from "./cluster.ts";
import type { Judge } from "./judge.ts";
import type { Write } from "./server.ts";
import type { World } from "./world.ts";

/** Later than this no driver of the simulation publishes. */
const briefMs = 25_000;
const wentMs = 60_000;

export class PoolJudge {
  readonly #world: World;
  readonly #judge: Judge;
  /** Uids of claims whose node was taken off. */
  readonly #unselected = new Set<string>();
  /** When each volume that there was came, by name. */
  readonly #made = new Map<string, number>();

  /** Volumes that came and went before their pool was published: what it says of them then may be taken for another's. */
  readonly #went: { readonly at: number; readonly segment: string; readonly gi: number }[] = [];

  constructor(world: World, judge: Judge) {
    this.#world = world;
    this.#judge = judge;
  }

  see({ plural, before, after, key }: Write): void {
    const { now } = this.#world.clock;
    if (plural === "persistentvolumes" && !before && after) this.#made.set(key, now);
    if (plural === "persistentvolumes" && before?.spec.csi && !after && now - (this.#made.get(key) ?? 0) < briefMs) {
      const { at: segment, gi } = placeOf(before);
      this.#went.push({ at: now, segment, gi });
    }
    if (plural !== "persistentvolumeclaims" || !after) return;
    if (nodeOf(before) !== undefined && nodeOf(after) === undefined) this.#unselected.add(after.metadata.uid);
  }

  /** The driver is asked for the claim's volume. */
  creating({ metadata, spec }: Body, segment: string): void {
    const backend = this.#world.sandbox.provisioner(driver)?.backend;
    const size = giOf(spec.resources.requests.storage);
    if (!backend || backend.volumes.has(metadata.uid)) return;
    const free = Number(backend.free(segment)) / 1024 ** 3;
    let untold = 0;
    let shown = 0;
    for (const [uid, volume] of backend.volumes) {
      if (volume.segment !== segment) continue;
      const gi = Number(volume.bytes) / 1024 ** 3;
      if (this.#isUntold(uid, segment)) untold += gi;
      else if (this.#isShown(uid)) shown += gi;
    }
    untold += Math.min(shown, this.#wentLately(segment));
    if (free + untold >= size) return;
    this.#world.stats.fullPools++;
    const text = `${metadata.name} of ${size}Gi on ${segment}, where ${free}Gi are left`;
    this.#judge.find("nobody is sent to a full pool", text);
  }

  /** What may have settled the demand of a volume that the watch shows, GiB. */
  #wentLately(segment: string): number {
    const { now } = this.#world.clock;
    const went = this.#went.filter((one) => one.segment === segment && now - one.at < wentMs);
    return went.reduce((sum, { gi }) => sum + gi, 0);
  }

  #isShown(uid: string): boolean {
    const name = `pvc-${uid}` as VolumeName;
    return this.#world.replicas.some(({ berth }) => berth?.cluster.state.volumes.get(name) !== undefined);
  }

  /** What takes room of which nobody is told but by the next publication. */
  #isUntold(uid: string, segment: string): boolean {
    const { server } = this.#world;
    // Deleted by hand before its provisioner saw it released: the driver keeps what the API has no volume for.
    const name = `pvc-${uid}`;
    if (this.#made.has(name) && !server.get("persistentvolumes", name)) return true;
    // A provisioner too goes by what it saw last: having given the claim back it may still make the volume.
    if (!this.#unselected.has(uid)) return false;
    return nodeOf(server.all("persistentvolumeclaims").find(({ metadata }) => metadata.uid === uid)) !== segment;
  }
}

function placeOf({ spec }: Body): { readonly at: string; readonly gi: number } {
  const [{ matchExpressions }] = spec.nodeAffinity.required.nodeSelectorTerms;
  return { at: matchExpressions[0].values[0], gi: giOf(spec.capacity.storage) };
}

function nodeOf(claim: Body): string | undefined {
  return claim?.metadata.annotations?.[selectedNode];
}
