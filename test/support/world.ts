/**
 * A cluster state fed from raw API objects, and the language of `.case` files over it: one command a line.
 *
 *     node NAME [label=value]…
 *     class NAME [provisioner=P] [mode=M|none] [topology=key:v1|v2[,key:v]]…
 *     pv NAME SIZE [on=NODE|at=key:v1|v2|affinity=TERMS] [class=C] [beta=C] [modes=RWO,ROX] [block] [phase=P] [for=CLAIM] [uid=CLAIM-UID] [label=k:v] [vac=NAME] [made=P] [deleting]
 *     pvc NAME SIZE|- [class=C] [beta=C] [modes=…] [block] [selector=k:v|select=TERM] [volume=PV] [half] [selected=NODE] [vac=NAME] [phase=P] [owner=POD-UID] [deleting]
 *     driver NAME [capacity]         csinode NODE DRIVER…
 *     capacity NAME CLASS NODE|*|- [SIZE] [at=key:v|select=TERM] [max=SIZE] [created=T]
 *     delete KIND KEY                wait SECONDS
 *     filter POD CLAIM…              prioritize POD CLAIM…
 *     hold POD NODE… : CLAIM…        assume POD NODE : CLAIM…        forget POD
 *
 * TERMS are separated by ";". A TERM is `key:Operator[:v1|v2]`, several with "," between them; "@metadata.name" is the field.
 */
import { translate } from "../../src/apis/kubernetes.ts";
import { filterNodes, planNode } from "../../src/scheduling/filter.ts";
import { type NodeName, nodeName, podUid } from "../../src/scheduling/names.ts";
import type { Kind, Pod } from "../../src/scheduling/objects.ts";
import type { Plan, PlannedClaim } from "../../src/scheduling/plan.ts";
import { scoreNodes } from "../../src/scheduling/score.ts";
import { ClusterState, type StateOptions } from "../../src/scheduling/state.ts";
import {
  makeCapacity,
  makeClass,
  makeCsiNode,
  makeDriver,
  makeNode,
  makePod,
  makePV,
  makePVC,
  type Raw,
} from "./make.ts";

export const kindOf: Record<string, Kind> = {
  Node: "node",
  PersistentVolume: "volume",
  PersistentVolumeClaim: "claim",
  StorageClass: "class",
  CSIDriver: "driver",
  CSINode: "csiNode",
  CSIStorageCapacity: "capacity",
  Pod: "pod",
};

const shortModes: Record<string, string> = {
  RWO: "ReadWriteOnce",
  ROX: "ReadOnlyMany",
  RWX: "ReadWriteMany",
  RWOP: "ReadWriteOncePod",
};

export class World {
  readonly state: ClusterState;
  now = 0;
  #bytes = 0;

  constructor(options: Partial<StateOptions> = {}) {
    this.state = new ClusterState({ clock: () => this.now, ...options });
    this.add(makeClass("local"));
  }

  /** Feeds objects as the watch would: one that cannot be read is set aside. */
  add(...objects: Raw[]): this {
    for (const raw of objects) {
      const kind = kindOf[String(raw["kind"])];
      if (!kind) throw new Error(`no kind ${String(raw["kind"])}`);
      const read = translate(kind, raw);
      if (read.ok) this.state.set(kind, read.key, read.object);
      else if (read.key !== undefined) this.state.setAside(kind, read.key, `${read.field}: ${read.problem}`);
      else throw new Error(`${read.field}: ${read.problem}`);
    }
    return this;
  }

  pod(name: string, ...claims: string[]): Pod {
    return this.read(makePod(name, claims));
  }

  /** A Pod that is not among the state's objects, as a filter call carries it. */
  read(raw: Raw): Pod {
    const read = translate("pod", raw);
    if (!read.ok) throw new Error(`${read.field}: ${read.problem}`);
    return read.object;
  }

  /** Names of the nodes that pass, in name order. */
  fitting(pod: Pod, nodes = this.nodes()): string[] {
    const verdict = filterNodes(this.state, pod, nodes);
    if (verdict.kind === "free") return [...nodes];
    if (verdict.kind !== "judged") return [];
    return verdict.nodes.names.filter((_, index) => verdict.nodes.fits(index));
  }

  /** The plan on a node as "claim=volume" or "claim=+class" texts; throws where there is none. */
  planned(pod: Pod, node: string): string[] {
    return describePlan(this.plan(pod, node));
  }

  plan(pod: Pod, node: string): Plan {
    const verdict = planNode(this.state, pod, nodeName(node));
    if (verdict.kind !== "judged" || !verdict.nodes.fits) {
      throw new Error(`no plan on ${node}: ${JSON.stringify(verdict.kind === "judged" ? verdict.nodes : verdict)}`);
    }
    return verdict.nodes.plan;
  }

  /** Why a node refuses: the keys of its reasons; the Pod-level reason where there is one; [] where it fits. */
  reasons(pod: Pod, node: string): string[] {
    const verdict = planNode(this.state, pod, nodeName(node));
    if (verdict.kind === "free") return [];
    if (verdict.kind === "fault") return ["fault"];
    if (verdict.kind === "refused") return [verdict.reason];
    return verdict.nodes.fits ? [] : verdict.nodes.refusals.map(({ reason }) => reason);
  }

  /** What kube-scheduler would be told. */
  text(pod: Pod, node: string): string {
    const verdict = planNode(this.state, pod, nodeName(node));
    if (verdict.kind === "refused") return verdict.text;
    return verdict.kind === "judged" && !verdict.nodes.fits ? verdict.nodes.text : "";
  }

  scores(pod: Pod, nodes = this.nodes()): Record<string, number> {
    const verdict = filterNodes(this.state, pod, nodes);
    if (verdict.kind !== "judged") return {};
    return Object.fromEntries(scoreNodes(verdict.nodes).map(({ node, score }) => [node, score]));
  }

  nodes(): NodeName[] {
    return [...this.state.topologies.nodes.keys()].sort();
  }

  /** One line of a case file; the answer's lines where the command asks something. */
  apply(line: string): string[] | undefined {
    const [command = "", ...words] = line.split("#")[0]?.trim().split(/\s+/) ?? [];
    if (command === "") return undefined;
    const { names, facts } = parse(words);
    switch (command) {
      case "filter":
        return this.#answerFilter(names);
      case "prioritize":
        return this.#answerPrioritize(names);
      case "hold":
      case "assume":
        return this.#promise(command, names);
      case "forget":
        this.state.reservations.forget(podUid(`u${names[0]}`));
        return undefined;
      case "wait":
        this.now += Number(names[0]) * 1000;
        return undefined;
      case "delete":
        this.state.delete(names[0] as Kind, names[1] ?? "");
        return undefined;
      default:
        this.add(this.#object(command, names, facts));
        return undefined;
    }
  }

  #object(command: string, names: string[], facts: Map<string, string[]>): Raw {
    const [name = "", size] = names;
    const one = (key: string): string | undefined => facts.get(key)?.[0];
    const labels = Object.fromEntries((facts.get("label") ?? facts.get("selector") ?? []).map(pair));
    const modes = one("modes")
      ?.split(",")
      .map((mode) => shortModes[mode] ?? mode);
    const shared = {
      ...(one("class") !== undefined && { class: one("class") ?? "" }),
      ...(one("beta") !== undefined && { betaClass: one("beta") ?? "" }),
      ...(modes && { modes }),
      ...(names.includes("block") && { volumeMode: "Block" }),
      ...(one("phase") !== undefined && { phase: one("phase") ?? "" }),
      ...(one("vac") !== undefined && { attributesClass: one("vac") ?? "" }),
      deleting: names.includes("deleting"),
      version: String(++this.#bytes),
    };
    switch (command) {
      case "node":
        return makeNode(name, Object.fromEntries([...facts].map(([key, values]) => [key, values[0] ?? ""])));
      case "class":
        return makeClass(name, {
          ...(one("provisioner") !== undefined && { provisioner: one("provisioner") ?? "" }),
          ...(one("mode") !== undefined && { mode: one("mode") === "none" ? null : (one("mode") ?? "") }),
          ...(facts.has("topology") && { topologies: (facts.get("topology") ?? []).map(topologyTerm) }),
        });
      case "pv":
        return makePV(name, {
          ...shared,
          capacity: size ?? "10Gi",
          labels,
          ...(one("on") !== undefined && { on: one("on") ?? "" }),
          ...(one("at") !== undefined && { terms: [affinityTerm(one("at") ?? "")] }),
          ...(one("affinity") !== undefined && { terms: (one("affinity") ?? "").split(";").map(selectorTerm) }),
          ...(one("made") !== undefined && { annotations: { "pv.kubernetes.io/provisioned-by": one("made") ?? "" } }),
          ...(one("for") !== undefined && { claim: one("for") ?? "" }),
          ...(one("uid") !== undefined && { claimUid: one("uid") ?? "" }),
        });
      case "pvc":
        return makePVC(name, {
          ...shared,
          request: size === "-" ? null : (size ?? "5Gi"),
          ...(facts.has("selector") && { selector: { matchLabels: labels } }),
          ...(one("select") !== undefined && { selector: selectorTerm(one("select") ?? "") }),
          ...(one("owner") !== undefined && { owner: one("owner") ?? "" }),
          ...(one("volume") !== undefined && { volume: one("volume") ?? "" }),
          ...(one("selected") !== undefined && { selectedNode: one("selected") ?? "" }),
          halfBound: names.includes("half"),
        });
      case "driver":
        return makeDriver(name, names.includes("capacity"));
      case "csinode":
        return makeCsiNode(name, ...names.slice(1));
      case "capacity": {
        const made = makeCapacity(name, {
          class: names[1] ?? "",
          on: names[2] === "-" ? null : (names[2] ?? ""),
          ...(names[3] !== undefined && { capacity: names[3] }),
          ...(one("at") !== undefined && { topology: Object.fromEntries([pair(one("at") ?? "")]) }),
          ...(one("max") !== undefined && { max: one("max") ?? "" }),
          ...(one("created") !== undefined && { created: one("created") ?? "" }),
          version: String(this.#bytes),
        });
        return one("select") === undefined ? made : { ...made, nodeTopology: selectorTerm(one("select") ?? "") };
      }
      default:
        throw new Error(`no command ${command}`);
    }
  }

  #answerFilter([name = "", ...claims]: string[]): string[] {
    const verdict = filterNodes(this.state, this.pod(name, ...claims), this.nodes());
    switch (verdict.kind) {
      case "free":
        return ["every node fits: no claims"];
      case "fault":
        return [`error  ${verdict.object.kind} ${verdict.object.key}: ${verdict.problem}`];
      case "refused":
        return [`refused  ${verdict.reason} ${verdict.claim}  (${verdict.text})`];
      case "judged":
        return verdict.nodes.names.map((node, index) => {
          const one = verdict.nodes.verdict(index);
          if (one.fits)
            return `${node}  ${one.plan.contended ? "contended" : "fits"}  ${describePlan(one.plan).join(" ")}`;
          return `${node}  refused  ${one.refusals.map(({ reason, claim }) => `${reason}${claim ? ` ${claim}` : ""}`).join(", ")}`;
        });
    }
  }

  #answerPrioritize([name = "", ...claims]: string[]): string[] {
    const scores = Object.entries(this.scores(this.pod(name, ...claims)));
    return scores.length === 0 ? ["no opinion"] : scores.map(([node, score]) => `${node}  ${score}`);
  }

  #promise(command: "hold" | "assume", words: string[]): string[] | undefined {
    const colon = words.indexOf(":");
    const [name = "", ...nodes] = words.slice(0, colon);
    const pod = this.pod(name, ...words.slice(colon + 1));
    const plans = nodes.map((node) => this.plan(pod, node));
    if (command === "hold") {
      this.state.reservations.hold(pod.uid, plans);
      return undefined;
    }
    const [plan] = plans;
    const outcome = plan && this.state.reservations.assume(pod.uid, plan);
    return [outcome?.ok ? `assumed  ${plan ? describePlan(plan).join(" ") : ""}` : `refused  ${outcome?.why}`];
  }
}

export function describePlan({ claims }: Plan): string[] {
  return claims.map((planned) => `${planned.claim.key.slice(2)}${target(planned)}`);
}

function target(planned: PlannedClaim): string {
  if (planned.kind === "provision") return `=+${planned.class.name}`;
  return `${planned.kind === "bound" ? "==" : "="}${planned.volume.name}`;
}

function parse(words: string[]): { names: string[]; facts: Map<string, string[]> } {
  const names: string[] = [];
  const facts = new Map<string, string[]>();
  for (const word of words) {
    const equals = word.indexOf("=");
    if (equals < 0) names.push(word);
    else {
      const key = word.slice(0, equals);
      facts.set(key, [...(facts.get(key) ?? []), word.slice(equals + 1)]);
    }
  }
  return { names, facts };
}

function pair(text: string): [string, string] {
  const colon = text.indexOf(":");
  return [text.slice(0, colon), text.slice(colon + 1)];
}

function affinityTerm(text: string) {
  const [key, values] = pair(text);
  return { matchExpressions: [{ key, operator: "In", values: values.split("|") }] };
}

interface Expression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

function selectorTerm(text: string): { matchExpressions?: Expression[]; matchFields?: Expression[] } {
  const expressions = text === "" ? [] : text.split(",").map(expression);
  const fields = expressions.filter(({ key }) => key.startsWith("@"));
  const labels = expressions.filter(({ key }) => !key.startsWith("@"));
  return {
    ...(labels.length > 0 && { matchExpressions: labels }),
    ...(fields.length > 0 && { matchFields: fields.map(({ key, ...rest }) => ({ key: key.slice(1), ...rest })) }),
  };
}

function expression(text: string): Expression {
  const [key = "", operator = "", values] = text.split(":");
  return { key, operator, ...(values !== undefined && { values: values.split("|") }) };
}

function topologyTerm(text: string): { matchLabelExpressions: { key: string; values: string[] }[] } {
  return {
    matchLabelExpressions: text.split(",").map((expression) => {
      const [key, values] = pair(expression);
      return { key, values: values.split("|") };
    }),
  };
}
