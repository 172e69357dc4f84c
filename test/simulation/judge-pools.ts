/** The drivers' side: nothing is provisioned but what a Berth has sent to that node, knowing what it can know of the pool. */
import type { Body } from "../binding/world.ts";
import { driver, giOf, selectedNode } from "./cluster.ts";
import type { Judge } from "./judge.ts";
import type { Write } from "./server.ts";
import type { World } from "./world.ts";

export class PoolJudge {
  readonly #world: World;
  readonly #judge: Judge;
  /** Uids of claims whose node was taken off. */
  readonly #unselected = new Set<string>();
  /** Volumes that there were, by name. */
  readonly #made = new Set<string>();

  constructor(world: World, judge: Judge) {
    this.#world = world;
    this.#judge = judge;
  }

  see({ plural, before, after, key }: Write): void {
    if (plural === "persistentvolumes" && after) this.#made.add(key);
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
    for (const [uid, volume] of backend.volumes) {
      if (volume.segment === segment && this.#isUntold(uid, segment)) untold += Number(volume.bytes) / 1024 ** 3;
    }
    if (free + untold >= size) return;
    this.#world.stats.fullPools++;
    const text = `${metadata.name} of ${size}Gi on ${segment}, where ${free}Gi are left`;
    this.#judge.find("nobody is sent to a full pool", text);
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

function nodeOf(claim: Body): string | undefined {
  return claim?.metadata.annotations?.[selectedNode];
}
