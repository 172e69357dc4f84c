/**
 * The naive oracle: what Berth must answer to each line of a script. It states the rules of VB §2 and §3 and of Berth's
 * decisions in the plainest way that can be run, shares no code with `src/`, and takes exponential time.
 */
import { classOf, compare, isBound, NaiveCluster, type PoolChoices, sizeOf, type Target } from "./naive-cluster.ts";
import { type Given, isPackable, NaiveNode } from "./naive-node.ts";
import { whyRefused } from "./naive-reasons.ts";
import { termsMatch } from "./naive-selectors.ts";
import type { ClaimLine, FilterLine, Line, NodeLine, ObjectLine, OthersLine, PromiseLine } from "./script.ts";

/** On one node; `line` is how a case file shows it. */
export interface NodeAnswer {
  readonly node: string;
  readonly line: string;
  readonly fits: boolean;
  readonly contended: boolean;
  /** Claims to provision; 0 where refused. */
  readonly provisions: number;
  /** Bytes, rounded to a double; 0 where refused. */
  readonly surplus: number;
  /** The first reason; undefined where it fits. */
  readonly reason: string | undefined;
  /** What kube-scheduler is told; "" where it fits. */
  readonly text: string;
}

/** To a filter: one line for the Pod, or what each node says, in name order. */
export interface Answer {
  readonly pod?: string;
  readonly nodes: readonly NodeAnswer[];
}

interface Sorted {
  readonly bound: readonly ClaimLine[];
  readonly open: readonly ClaimLine[];
}

const noVolumes = "node(s) didn't find available persistent volumes to bind";
const noSpace = "node(s) did not have enough free storage";
const texts: Readonly<Record<string, string>> = {
  volumeNodeConflict: "node(s) didn't match PersistentVolume's node affinity",
  boundVolumeMissing: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
  noMatchingVolume: noVolumes,
  notEnoughVolumes: noVolumes,
  volumeAssumed: noVolumes,
  selectedOtherNode: noVolumes,
  preboundElsewhere: noVolumes,
  topologyNotAllowed: noVolumes,
  driverMissing: noVolumes,
  selectorNotProvisionable: noVolumes,
  noCapacityPublished: noSpace,
  claimTooLarge: noSpace,
  notEnoughSpace: noSpace,
  capacityAssumed: noSpace,
};

export class Naive {
  readonly #cluster: NaiveCluster;
  readonly #choices: PoolChoices;
  /** What answers took that no line of theirs shows. */
  readonly notes: Set<string>;

  constructor(choices: PoolChoices) {
    this.#choices = choices;
    this.#cluster = new NaiveCluster(choices);
    this.notes = this.#cluster.notes;
    // What every case starts with.
    this.#cluster.set({
      verb: "class",
      name: "local",
      provisioner: "kubernetes.io/no-provisioner",
      mode: "WaitForFirstConsumer",
      topologies: [],
    });
  }

  /** Lines that ask nothing. */
  apply(line: Exclude<Line, FilterLine>): void {
    switch (line.verb) {
      case "delete":
        this.#cluster.delete(line);
        break;
      case "wait":
        this.#cluster.now += line.seconds * 1000;
        break;
      case "hold":
      case "assume":
      case "forget":
        this.#promise(line);
        break;
      default:
        this.#cluster.set(line);
    }
  }

  /** The lines that others write. */
  expand(line: OthersLine): ObjectLine[] {
    const lines =
      line.verb === "written" ? this.#cluster.writesFor(line.pod) : this.#cluster.finishOf(line.claim, line.on);
    for (const { verb } of lines) this.notes.add(`${line.verb} ${verb}`);
    return lines;
  }

  filter({ pod, claims }: Pick<FilterLine, "pod" | "claims">): Answer {
    if (claims.length === 0) return { pod: "every node fits: no claims", nodes: [] };
    const sorted = this.#sort(pod, claims);
    if (typeof sorted === "string") return { pod: sorted, nodes: [] };
    this.#cluster.settleAll();
    const nodes = [...this.#cluster.nodes.values()].sort((a, b) => compare(a.name, b.name));
    return { nodes: nodes.map((node) => this.#judge(pod, sorted, node)) };
  }

  /** VB §2.1. */
  #sort(pod: string, names: readonly string[]): Sorted | string {
    const claims: ClaimLine[] = [];
    for (const mounted of names) {
      const found = this.#usable(pod, mounted);
      if (typeof found === "string") return found;
      if (!claims.includes(found)) claims.push(found);
    }
    const waiting = claims.filter((claim) => !isBound(claim));
    for (const claim of waiting) {
      const storageClass = classOf(claim) === "" ? undefined : this.#cluster.classes.get(classOf(claim));
      if (storageClass?.mode === "none") return `error  class ${storageClass.name}: volumeBindingMode: not set`;
    }
    for (const claim of waiting) {
      const isDelayed = this.#cluster.classes.get(classOf(claim))?.mode === "WaitForFirstConsumer";
      if (isDelayed && claim.volume === undefined) continue;
      const reason = isDelayed ? "bindInProgress" : "unboundImmediate";
      return `refused  ${reason} d/${claim.name}  (pod has unbound immediate PersistentVolumeClaims)`;
    }
    const open = [...waiting].sort((a, b) => compare(a.name, b.name));
    return { bound: claims.filter(isBound), open };
  }

  #usable(pod: string, mounted: string): ClaimLine | string {
    const isEphemeral = mounted.startsWith("~");
    const name = isEphemeral ? `${pod}-${mounted.slice(1)}` : mounted;
    const refused = (reason: string, text: string): string => `refused  ${reason} d/${name}  (${text})`;
    const claim = this.#cluster.claims.get(name);
    const subject = `persistentvolumeclaim "${name}"`;
    if (!claim) {
      if (isEphemeral)
        return refused("claimAwaited", `waiting for ephemeral volume controller to create the ${subject}`);
      return refused("claimNotFound", `${subject} not found`);
    }
    const volume = claim.volume ?? "";
    if (claim.lost) return refused("claimLost", `${subject} bound to non-existent persistentvolume "${volume}"`);
    if (claim.deleting) return refused("claimDeleting", `${subject} is being deleted`);
    if (isEphemeral && claim.owner !== `u${pod}`) {
      return refused("claimNotOwned", `PVC d/${name} was not created for pod d/${pod} (pod is not owner)`);
    }
    return claim;
  }

  /** VB §2.2: the reasons of bound and open claims stand side by side, in upstream's order. */
  #judge(pod: string, sorted: Sorted, node: NodeLine): NodeAnswer {
    const bound = this.#whyBoundRefuse(sorted.bound, node);
    const here = new NaiveNode(this.#cluster, node, { pod, open: sorted.open });
    const careful = here.best(true);
    const given = careful ?? here.best(false);
    const open = given ? undefined : whyRefused(here);
    const refusals = [bound?.conflict, open, bound?.missing].filter((refusal) => refusal !== undefined);
    if (given && refusals.length === 0) return this.#fitting(sorted, here, given, careful === undefined);
    const reasons = refusals.map(({ reason }) => reason);
    return {
      node: node.name,
      line: `${node.name}  refused  ${refusals.map(({ reason, claim }) => `${reason} d/${claim}`).join(", ")}`,
      fits: false,
      contended: false,
      provisions: 0,
      surplus: 0,
      reason: reasons[0],
      text: [...new Set(reasons.map((reason) => texts[reason] ?? `no text for ${reason}`))].join(", "),
    };
  }

  #fitting({ bound }: Sorted, here: NaiveNode, given: readonly Given[], contended: boolean): NodeAnswer {
    const served = here.open.map((claim, index) => {
      const volume = given[index]?.name;
      return { claim, text: volume === undefined ? `=+${classOf(claim)}` : `=${volume}` };
    });
    const all = [...bound.map((claim) => ({ claim, text: `==${claim.volume}` })), ...served];
    const plan = all.sort((a, b) => compare(a.claim.name, b.claim.name)).map(({ claim, text }) => claim.name + text);
    const { name } = here.node;
    for (const note of notesOn(here, given)) this.notes.add(note);
    return {
      node: name,
      line: `${name}  ${contended ? "contended" : "fits"}  ${plan.join(" ")}`,
      fits: true,
      contended,
      provisions: given.filter((volume) => !volume).length,
      surplus: Number(here.surplus(given)),
      reason: undefined,
      text: "",
    };
  }

  /** The first bound claim that is out speaks for all. */
  #whyBoundRefuse(bound: readonly ClaimLine[], node: NodeLine) {
    for (const claim of bound) {
      const volume = this.#cluster.volumes.get(claim.volume ?? "");
      if (!volume) return { missing: { reason: "boundVolumeMissing", claim: claim.name } };
      if (!termsMatch(volume.terms, node)) return { conflict: { reason: "volumeNodeConflict", claim: claim.name } };
    }
    return undefined;
  }

  #promise(line: Extract<PromiseLine, { readonly pod: string }>): void {
    if (line.verb === "forget") {
      this.#cluster.forget(line.pod);
      return;
    }
    const nodes = line.verb === "hold" ? line.nodes : [line.node];
    const items = nodes.flatMap((node) => this.#planned(line, node));
    if (line.verb === "hold") this.#cluster.hold(line.pod, items.filter(isHeld));
    else this.#cluster.assume(line.pod, line.node, items);
  }

  /** What the Pod's open claims get on the node. */
  #planned({ pod, claims }: { pod: string; claims: readonly string[] }, node: string) {
    const sorted = this.#sort(pod, claims);
    const line = this.#cluster.nodes.get(node);
    if (typeof sorted === "string" || !line) throw new Error(`no plan for ${pod} on ${node}`);
    const here = new NaiveNode(this.#cluster, line, { pod, open: sorted.open });
    const careful = here.best(true);
    const given = careful ?? here.best(false);
    if (!given) throw new Error(`no plan for ${pod} on ${node}`);
    const pools = this.#poolsOf(here, { pod, claims, given, careful: careful !== undefined });
    return here.open.map((claim, index) => {
      const volume = given[index];
      const target: Target = volume ? { volume: volume.name } : { pool: pools.get(claim.name) };
      return { claim: claim.name, target, bytes: sizeOf(claim) };
    });
  }

  /** The core's choice of pools, if all of them hold what is put into them. */
  #poolsOf(
    here: NaiveNode,
    {
      pod,
      claims,
      given,
      careful,
    }: { pod: string; claims: readonly string[]; given: readonly Given[]; careful: boolean },
  ): Map<string, string> {
    const found = new Map<string, string>();
    const chosen = this.#choices.poolsOfPlan(pod, claims, here.node.name);
    for (const drawing of here.drawing(given)) {
      const rooms = drawing[0] ? here.rooms(drawing[0], careful) : [];
      for (const room of rooms) {
        const mine = drawing.filter(({ name }) => this.#cluster.isOf(chosen.get(name) ?? [], room.pool));
        if (!isPackable(mine, [room])) throw new Error(`the plan puts too much into ${room.pool}`);
        for (const { name } of mine) found.set(name, room.pool);
      }
      for (const { name } of drawing) if (!found.has(name)) throw new Error(`the plan puts ${name} into no pool`);
    }
    for (const { name } of here.open) {
      const pool = this.#cluster.demandPool(name);
      if (pool !== undefined && !found.has(name)) found.set(name, pool);
    }
    return found;
  }
}

function notesOn(here: NaiveNode, given: readonly Given[]): string[] {
  const packings = here.drawing(given).map((drawing) => {
    const rooms = drawing[0] ? here.rooms(drawing[0], false) : [];
    return rooms.some((room) => isPackable(drawing, [room])) ? "packed into one pool" : "packed into several pools";
  });
  const settled = here.open.flatMap((claim) => {
    const way = here.settledFor(claim);
    if (here.cluster.assumptionOf(claim.name)) return ["feasible with an assumed claim"];
    if (way === "underway") return ["feasible with a claim under way"];
    return typeof way === "object" ? ["feasible with a reserved volume"] : [];
  });
  return [...packings, ...settled];
}

function isHeld({ target }: { target: Target }): boolean {
  return "volume" in target || target.pool !== undefined;
}
