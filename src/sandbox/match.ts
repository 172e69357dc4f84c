/** Selectors over labels and nodes, written for the sandbox alone: it must not agree with Berth by construction. */
import type { LabelSelector, Labels, Node, NodeSelector, NodeSelectorTerm, Requirement } from "./objects.ts";

/** Source: apimachinery pkg/labels/selector.go, Requirement.Matches. NotIn and DoesNotExist match an absent key. */
function meets({ key, operator, values = [] }: Requirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return isWhole(value) && isWhole(values[0]) && BigInt(value) > BigInt(values[0]);
    case "Lt":
      return isWhole(value) && isWhole(values[0]) && BigInt(value) < BigInt(values[0]);
    default:
      return false;
  }
}

function isWhole(text: string | undefined): text is string {
  return text !== undefined && /^-?\d+$/.test(text);
}

/** A selector without requirements matches everything, a missing one nothing. */
export function matchesLabels(selector: LabelSelector | undefined, labels: Labels = {}): boolean {
  if (!selector) return false;
  const wanted = Object.entries(selector.matchLabels ?? {});
  return (
    wanted.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value) &&
    (selector.matchExpressions ?? []).every((requirement) => meets(requirement, labels))
  );
}

/** Terms are alternatives; a selector without terms, and a term without requirements, match no node. */
export function matchesNode(selector: NodeSelector, { metadata }: Node): boolean {
  return (selector.nodeSelectorTerms ?? []).some((term) => meetsTerm(term, metadata.labels ?? {}, metadata.name));
}

function meetsTerm(term: NodeSelectorTerm, labels: Labels, name: string): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length + matchFields.length === 0) return false;
  const fields = { "metadata.name": name };
  return (
    matchExpressions.every((requirement) => meets(requirement, labels)) &&
    matchFields.every((requirement) => meets(requirement, fields))
  );
}
