/** Required pod affinity and anti-affinity. Source: framework/plugins/interpodaffinity/filtering.go. */
import { matchesLabels } from "../match.ts";
import type { Pod, PodAffinityRules, PodAffinityTerm } from "../objects.ts";
import { isSamePod, type NodeState, type Snapshot } from "./snapshot.ts";
import type { Refusal } from "./status.ts";

export type NodeTest = (state: NodeState) => Refusal | undefined;

interface Reach {
  readonly pod: Pod;
  readonly labels: Readonly<Record<string, string>>;
}

/** Looks at all pods of the snapshot once; the test it returns looks at domains only. */
export function compileInterPodAffinity(pod: Pod, snapshot: Snapshot): NodeTest {
  const others: Reach[] = [...snapshot.nodes.values()].flatMap(({ node, pods }) =>
    pods.filter((other) => !isSamePod(other, pod)).map((other) => ({ pod: other, labels: node.metadata.labels ?? {} })),
  );
  const isMeant = (owner: Pod, term: PodAffinityTerm, other: Pod): boolean => matchesTerm(snapshot, owner, term, other);
  const forbidden = others.flatMap(({ pod: other, labels }) =>
    termsOf(other.spec.affinity?.podAntiAffinity)
      .filter((term) => isMeant(other, term, pod))
      .map(domainIn(labels)),
  );
  const avoided = termsOf(pod.spec.affinity?.podAntiAffinity).flatMap((term) =>
    others.filter((other) => isMeant(pod, term, other.pod)).map(({ labels }) => domainIn(labels)(term)),
  );
  const sought = termsOf(pod.spec.affinity?.podAffinity);
  // A pod meets an affinity only if it meets all its terms: so says the filter's own bookkeeping.
  const companions = others.filter((other) => sought.every((term) => isMeant(pod, term, other.pod)));
  const offered = new Set(companions.flatMap(({ labels }) => sought.map(domainIn(labels))));
  // The first of a group that wants to be together may go anywhere its topology keys exist.
  const isFirst = companions.length === 0 && sought.every((term) => isMeant(pod, term, pod));
  const closed = new Set(forbidden);
  const shunned = new Set(avoided);

  return ({ node }) => {
    const labels = node.metadata.labels ?? {};
    const isKnown = sought.every(({ topologyKey }) => labels[topologyKey] !== undefined);
    if (sought.length > 0 && !(isKnown && (isFirst || sought.every((term) => offered.has(domainIn(labels)(term)))))) {
      return refuse("unresolvable", "node(s) didn't match pod affinity rules");
    }
    const here = Object.entries(labels).map(([key, value]) => domain(key, value));
    if (here.some((one) => shunned.has(one)))
      return refuse("resolvable", "node(s) didn't match pod anti-affinity rules");
    if (here.some((one) => closed.has(one))) {
      return refuse("resolvable", "node(s) didn't satisfy existing pods anti-affinity rules");
    }
    return undefined;
  };
}

function refuse(code: Refusal["code"], reason: string): Refusal {
  return { code, by: "InterPodAffinity", reasons: [reason] };
}

const domain = (key: string, value: string): string => `${key}=${value}`;

/** The domain of a node's labels for a term; one that no node is in where the label is missing. */
function domainIn(labels: Readonly<Record<string, string>>): (term: PodAffinityTerm) => string {
  return ({ topologyKey }) => {
    const value = labels[topologyKey];
    return value === undefined ? "" : domain(topologyKey, value);
  };
}

function termsOf(rules: PodAffinityRules | undefined): readonly PodAffinityTerm[] {
  return rules?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
}

/** Whether `owner`'s term is about `other`: namespaces by name or by selector, the owner's own where neither is given. */
function matchesTerm(snapshot: Snapshot, owner: Pod, term: PodAffinityTerm, other: Pod): boolean {
  const { namespaces = [], namespaceSelector, labelSelector } = term;
  const namespace = other.metadata.namespace ?? "";
  const isNear =
    namespaces.length === 0 && !namespaceSelector
      ? namespace === owner.metadata.namespace
      : namespaces.includes(namespace) || matchesLabels(namespaceSelector, snapshot.namespaceLabels.get(namespace));
  return isNear && matchesLabels(labelSelector, other.metadata.labels);
}
