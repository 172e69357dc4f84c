/** Carries out what a plan says that people and processes do. What they touch is noted: nobody is to blame for that. */
import type { Body } from "../binding/world.ts";
import {
  claimNamed,
  claimsOf,
  namespace,
  nodeNamed,
  podNamed,
  root,
  selectedNode,
  volumeNamed,
  zone,
} from "./cluster.ts";
import type { Near } from "./near.ts";
import { isDeletable, isFree, isReserved, isSelected, keyOf } from "./picks.ts";
import { type Act, tellAct } from "./plan.ts";
import { Processes } from "./processes.ts";
import type { Plural } from "./server.ts";
import type { World } from "./world.ts";

const merge = "application/merge-patch+json";

export class Operator {
  readonly #world: World;
  /** When each object was last meddled with, by "plural/key". */
  readonly touched = new Map<string, number>();
  /** Specs of deleted things that come back. */
  #count = 0;
  #near: Near | undefined;
  readonly #processes: Processes;

  constructor(world: World) {
    this.#world = world;
    this.#processes = new Processes(world);
  }

  /** @param near  among these is picked, where any of them will do */
  act(act: Act, near?: Near): void {
    this.#world.trace.add("op", () => tellAct(act));
    this.#world.stats.actions.set(act.do, (this.#world.stats.actions.get(act.do) ?? 0) + 1);
    this.#near = near;
    this.#carryOut(act);
    this.#near = undefined;
  }

  create(path: string, object: Body): void {
    void this.#world.server.write("operator", "POST", path, object);
  }

  #carryOut(act: Act): void {
    switch (act.do) {
      case "create pod":
        this.#createPod(act);
        return;
      case "share claims": {
        const other = this.#pick("pods", act.pick, (pod) => claimsOf(pod).length > 0);
        if (other)
          this.create(
            root.pods,
            podNamed(
              act.name,
              claimsOf(other).map((key) => key.slice(namespace.length + 1)),
            ),
          );
        return;
      }
      case "delete pod":
        this.#deletePod(act);
        return;
      case "recreate pod":
        this.#recreate("pods", this.#pick("pods", act.pick));
        return;
      case "place pod":
        this.#place(
          this.#pick("pods", act.pick, (pod) => pod.spec.nodeName === undefined),
          act.pick,
        );
        return;
      case "delete claim":
        this.#delete("persistentvolumeclaims", this.#pick("persistentvolumeclaims", act.pick));
        return;
      case "recreate claim":
        this.#recreate("persistentvolumeclaims", this.#pick("persistentvolumeclaims", act.pick));
        return;
      case "edit claim":
        this.#patch("persistentvolumeclaims", this.#pick("persistentvolumeclaims", act.pick), this.#mark());
        return;
      case "unselect claim":
        this.#unselect(this.#pick("persistentvolumeclaims", act.pick, isSelected));
        return;
      case "steal volume":
        this.#steal(this.#pick("persistentvolumes", act.pick, isFree));
        return;
      case "edit volume":
        this.#patch("persistentvolumes", this.#pick("persistentvolumes", act.pick), this.#mark(), false);
        return;
      case "delete volume":
        this.#delete(
          "persistentvolumes",
          this.#pick("persistentvolumes", act.pick, (volume) => isDeletable(volume, this.#claimOf(volume))),
        );
        return;
      case "reset claimRef":
        this.#resetClaimRef(this.#pick("persistentvolumes", act.pick, isReserved));
        return;
      case "reserve volume":
        this.#reserve(act.name, this.#pick("persistentvolumes", act.pick, isFree));
        return;
      case "create volume":
        this.create(root.persistentvolumes, volumeNamed(act.name, `z${act.pick % 2}`, act.gi));
        return;
      default:
        this.#meddle(act);
        return;
    }
  }

  /** With what is not storage: nodes, classes, and processes. */
  #meddle(act: Act): void {
    switch (act.do) {
      case "delete node":
        this.#removeFor("nodes", this.#pick("nodes", act.pick), act.backAfterMs);
        return;
      case "delete class":
        this.#removeFor("storageclasses", this.#pick("storageclasses", act.pick), act.backAfterMs);
        return;
      case "relabel node": {
        const node = this.#pick("nodes", act.pick);
        const labels = { [zone]: node?.metadata.labels[zone] === "z0" ? "z1" : "z0" };
        this.#patch("nodes", node, { metadata: { labels } });
        return;
      }
      default:
        this.#processes.act(act);
    }
  }

  #createPod({ name, claims, ephemeral }: Extract<Act, { do: "create pod" }>): void {
    const names = ephemeral ? [] : claims.map((_, at) => `${name}-${at}`);
    for (const [at, claim] of names.entries()) {
      const spec = claims[at];
      if (spec) this.create(root.persistentvolumeclaims, claimNamed(claim, spec));
    }
    this.create(root.pods, podNamed(name, names, ephemeral ? claims : []));
  }

  #deletePod({ pick, claims, graceSeconds }: Extract<Act, { do: "delete pod" }>): void {
    const pod = this.#pick("pods", pick);
    this.#delete("pods", pod, { gracePeriodSeconds: graceSeconds });
    for (const key of pod && claims ? claimsOf(pod) : []) {
      this.#delete("persistentvolumeclaims", this.#world.server.get("persistentvolumeclaims", key));
    }
  }

  #recreate(plural: "pods" | "persistentvolumeclaims", object: Body): void {
    if (!object) return;
    this.#delete(plural, object, { gracePeriodSeconds: 0 });
    const { name, annotations: _, labels } = object.metadata;
    const { nodeName: _node, volumeName: _volume, ...spec } = object.spec;
    this.create(root[plural], { metadata: { name, namespace, labels }, spec });
  }

  /** Another scheduler, which looks at nothing. */
  #place(pod: Body, pick: number): void {
    const node = this.#pick("nodes", pick);
    if (!pod || !node) return;
    this.#touch("pods", pod);
    const { name, uid } = pod.metadata;
    const target = { apiVersion: "v1", kind: "Node", name: node.metadata.name };
    this.create(`${root.pods}/${name}/binding`, { metadata: { name, namespace, uid }, target });
  }

  #unselect(claim: Body): void {
    this.#patch("persistentvolumeclaims", claim, { metadata: { annotations: { [selectedNode]: null } } });
  }

  /** Another scheduler, which knows nothing of Berth, chooses the volume for a claim of its own. */
  #steal(volume: Body): void {
    if (!volume) return;
    const name = `thief-${++this.#count}`;
    const storageClass = volume.spec.storageClassName;
    this.create(root.persistentvolumeclaims, claimNamed(name, { class: storageClass, gi: 1 }));
    this.#patch("persistentvolumes", volume, { spec: { claimRef: this.#refTo(name) } });
  }

  #claimOf({ spec: { claimRef } }: Body): Body {
    return claimRef && this.#world.server.get("persistentvolumeclaims", `${claimRef.namespace}/${claimRef.name}`);
  }

  #refTo(name: string): Body {
    const claim = this.#world.server.get("persistentvolumeclaims", `${namespace}/${name}`);
    const uid = claim?.metadata.uid;
    return { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, ...(uid !== undefined && { uid }) };
  }

  /** A user sets the volume aside for a claim by name, before there is one; the claim and its Pod follow. */
  #reserve(name: string, volume: Body): void {
    if (!volume) return;
    this.#patch("persistentvolumes", volume, { spec: { claimRef: { ...this.#refTo(`${name}-0`), uid: undefined } } });
    this.#createPod({
      do: "create pod",
      name,
      claims: [{ class: volume.spec.storageClassName, gi: 1 }],
      ephemeral: false,
    });
  }

  #resetClaimRef(volume: Body): void {
    this.#patch("persistentvolumes", volume, { spec: { claimRef: null } });
  }

  #removeFor(plural: "nodes" | "storageclasses", object: Body, backAfterMs: number): void {
    if (!object) return;
    this.#delete(plural, object);
    const { name, labels } = object.metadata;
    const { metadata: _, ...rest } = object;
    const back = (): void =>
      this.create(root[plural], plural === "nodes" ? nodeNamed(name, labels[zone]) : { ...rest, metadata: { name } });
    this.#world.later(backAfterMs, back);
  }

  #mark(): Body {
    return { metadata: { annotations: { "example.com/touched": String(++this.#count) } } };
  }

  #pick(plural: Plural, pick: number, suits: (object: Body) => boolean = () => true): Body {
    const able = this.#world.server.all(plural).filter((object) => suits(object));
    const near = this.#near?.get(plural);
    const close = near ? able.filter((object) => near.has(keyOf(object))) : [];
    const found = close.length > 0 ? close : able;
    found.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    return found[pick % Math.max(1, found.length)];
  }

  #delete(plural: Plural & keyof typeof root, object: Body, options?: Body): void {
    if (!object) return;
    this.#touch(plural, object);
    void this.#world.server.write("operator", "DELETE", `${root[plural]}/${object.metadata.name}`, options);
  }

  #patch(plural: Plural & keyof typeof root, object: Body, patch: Body, isTouch = true): void {
    if (!object) return;
    if (isTouch) this.#touch(plural, object);
    void this.#world.server.write("operator", "PATCH", `${root[plural]}/${object.metadata.name}`, patch, merge);
  }

  #touch(plural: Plural, object: Body): void {
    this.touched.set(`${plural}/${keyOf(object)}`, this.#world.clock.now);
  }
}
