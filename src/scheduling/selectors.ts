/**
 * Node and label selectors: compiled once when the object that carries them arrives, matched thousands of times.
 *
 * @see component-helpers scheduling/corev1/nodeaffinity/nodeaffinity.go, apimachinery pkg/labels/selector.go
 */
import type { NodeName } from "./names.ts";

export type Operator = "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt";

/** One requirement. `number` is the operand of Gt and Lt. */
export interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  readonly values: ReadonlySet<string>;
  readonly number?: bigint;
}

/** Requirements that must all hold. A term without any matches nothing. */
export interface Term {
  readonly labels: readonly Requirement[];
  /** On the field metadata.name. Upstream ignores these (departure D6). */
  readonly fields: readonly Requirement[];
}

/** Terms of which one must hold; no term matches no node. */
export interface NodeSelector {
  readonly terms: readonly Term[];
  /** The same text for the same selector, so that equal selectors can share one node set. */
  readonly identity: string;
}

/** Requirements that must all hold; none at all matches everything. */
export interface LabelSelector {
  readonly requirements: readonly Requirement[];
  readonly identity: string;
}

export function nodeSelector(terms: readonly Term[]): NodeSelector {
  return { terms, identity: identityOf(terms.map(({ labels, fields }) => [labels.map(plain), fields.map(plain)])) };
}

export function labelSelector(requirements: readonly Requirement[]): LabelSelector {
  return { requirements, identity: identityOf(requirements.map(plain)) };
}

function plain({ key, operator, values }: Requirement): unknown {
  return [key, operator, [...values].sort()];
}

function identityOf(parts: readonly unknown[]): string {
  return JSON.stringify(parts);
}

/**
 * Checks and compiles one requirement.
 *
 * @returns `undefined` where the API would refuse it: an unknown operator, In or NotIn without values, Exists or
 *          DoesNotExist with values, Gt or Lt without exactly one integer
 */
export function requirement(key: string, operator: string, values: readonly string[]): Requirement | undefined {
  const set = new Set(values);
  switch (operator) {
    case "In":
    case "NotIn":
      return values.length > 0 ? { key, operator, values: set } : undefined;
    case "Exists":
    case "DoesNotExist":
      return values.length === 0 ? { key, operator, values: set } : undefined;
    case "Gt":
    case "Lt": {
      // No value, or several, join to a text that is no integer.
      const number = parseInteger(values.join());
      return number === undefined ? undefined : { key, operator, values: set, number };
    }
  }
  return undefined;
}

export function matchesNode(
  selector: NodeSelector | undefined,
  labels: ReadonlyMap<string, string>,
  name: NodeName,
): boolean {
  if (selector === undefined) return true;
  for (const term of selector.terms) if (termMatches(term, labels, name)) return true;
  return false;
}

function termMatches({ labels, fields }: Term, nodeLabels: ReadonlyMap<string, string>, name: NodeName): boolean {
  if (labels.length === 0 && fields.length === 0) return false;
  for (const requirement of labels) if (!holds(requirement, nodeLabels.get(requirement.key))) return false;
  for (const requirement of fields) {
    if (requirement.key !== "metadata.name" || !holds(requirement, name)) return false;
  }
  return true;
}

export function matchesLabels(selector: LabelSelector | undefined, labels: ReadonlyMap<string, string>): boolean {
  if (selector === undefined) return true;
  for (const requirement of selector.requirements) {
    if (!holds(requirement, labels.get(requirement.key))) return false;
  }
  return true;
}

/** NotIn and DoesNotExist alone hold for an absent key; Gt and Lt never hold for a value that is no integer. */
function holds({ operator, values, number }: Requirement, value: string | undefined): boolean {
  if (value === undefined) return operator === "NotIn" || operator === "DoesNotExist";
  switch (operator) {
    case "In":
      return values.has(value);
    case "NotIn":
      return !values.has(value);
    case "Exists":
      return true;
    case "DoesNotExist":
      return false;
    case "Gt":
    case "Lt": {
      const found = parseInteger(value);
      if (found === undefined || number === undefined) return false;
      return operator === "Gt" ? found > number : found < number;
    }
  }
}

/** As Go's ParseInt reads it: an optional sign and digits, within 64 bits. */
function parseInteger(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,19}$/.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** "disk In [ssd, nvme]", for explanations. */
export function requirementText({ key, operator, values }: Requirement): string {
  return `${key} ${operator}${values.size === 0 ? "" : ` [${[...values].join(", ")}]`}`;
}
