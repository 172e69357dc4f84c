/**
 * What happens in a busy cluster, as watch events: of ten, one is a kubelet's report, two are of Pods that are told again why they
 * wait, and seven are steps of claims that get bound, are deleted, and come again.
 */
import { type Bond, claimObject, nodeObject, podObject, volumeNameOf, volumeObject } from "./objects.ts";
import type { ServedApi } from "./served.ts";
import { claimsPerPod, type Size, sparesOf } from "./size.ts";

/** Claims that are between two steps at one time. */
const abreast = 50;

export class Churn {
  readonly #api: ServedApi;
  readonly #size: Size;
  #made = 0;
  #beats = 0;
  #told = 0;
  #stepsDone = 0;

  constructor(api: ServedApi, size: Size) {
    this.#api = api;
    this.#size = size;
  }

  /** One write of one object, which is one event of one watch. */
  next(): void {
    const place = this.#made++ % 10;
    if (place === 0) this.#beat();
    else if (place % 5 === 4) this.#tell();
    else this.#step();
  }

  #beat(): void {
    const beat = this.#beats++;
    this.#api.put("nodes", nodeObject(beat % this.#size.nodes, `2026-01-02T00:00:00Z, report ${beat}`));
  }

  #tell(): void {
    const told = this.#told++;
    const { pods, nodes } = this.#size;
    this.#api.put("pods", podObject(told % pods, claimsPerPod, `0/${nodes} nodes are available, said ${told} times`));
  }

  /**
   * Claims go through the steps side by side: all in a group take their first, then all their second. A spare claim always takes
   * the last disk of one node, so that two never want the same.
   */
  #step(): void {
    const steps = 8;
    const group = Math.floor(this.#stepsDone / (abreast * steps));
    const step = Math.floor(this.#stepsDone / abreast) % steps;
    const turn = group * abreast + (this.#stepsDone % abreast);
    this.#stepsDone++;
    const spares = Math.min(sparesOf(this.#size), this.#size.nodes);
    this.#stepOf(turn % spares, Math.floor(turn / spares), step);
  }

  #stepOf(spare: number, life: number, step: number): void {
    const disk = this.#size.disksPerNode - 1;
    const volume = volumeNameOf(spare, disk);
    const claim = (o: { volume?: string; phase?: string }, of = life) =>
      claimObject(`spare-${spare}`, 0, { ...o, life: of });
    const bond = (phase: string): Bond => ({ claim: claim({}), phase });
    const put = (to?: Bond): void => this.#api.put("persistentvolumes", volumeObject(spare, disk, to));
    const putClaim = (object = claim({})): void => this.#api.put("persistentvolumeclaims", object);
    const steps: readonly (() => void)[] = [
      () => put(bond("Available")),
      () => put(bond("Bound")),
      () => putClaim(claim({ volume })),
      () => putClaim(claim({ volume, phase: "Bound" })),
      () => this.#api.remove("persistentvolumeclaims", claim({ volume, phase: "Bound" })),
      () => put(bond("Released")),
      () => put(),
      () => putClaim(claim({}, life + 1)),
    ];
    steps[step]?.();
  }
}
