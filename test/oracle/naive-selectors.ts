/** Selectors, read as the API's documentation says (VB §3.4). */
import type { Requirement, Term } from "./script.ts";

type Labels = Readonly<Record<string, string>>;

export function labelsMatch(requirements: readonly Requirement[], labels: Labels): boolean {
  return requirements.every((requirement) => holds(requirement, labels[requirement.key]));
}

/** No terms at all means every node; a term without requirements means none. */
export function termsMatch(terms: readonly Term[] | undefined, node: { name: string; labels: Labels }): boolean {
  if (terms === undefined) return true;
  return terms.some(({ labels, fields }) => {
    if (labels.length + fields.length === 0) return false;
    return labelsMatch(labels, node.labels) && fields.every((requirement) => holds(requirement, node.name));
  });
}

function holds({ operator, values }: Requirement, value: string | undefined): boolean {
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
      return isInteger(value) && BigInt(value) > BigInt(values[0] ?? "");
    case "Lt":
      return isInteger(value) && BigInt(value) < BigInt(values[0] ?? "");
  }
}

function isInteger(value: string | undefined): value is string {
  return value !== undefined && /^-?\d+$/.test(value);
}
