/** Selectors as the API writes them, compiled. */
import {
  type LabelSelector,
  labelSelector,
  type NodeSelector,
  nodeSelector,
  type Requirement,
  requirement,
  type Term,
} from "../scheduling/selectors.ts";
import { entries, Fault, type Fields, list, object, requiredText, shown, texts } from "./fields.ts";

/**
 * A NodeSelector's terms. A term that the API would refuse matches nothing, and the others still count, as upstream has it.
 *
 * @see component-helpers scheduling/corev1/nodeaffinity/nodeaffinity.go, NewLazyErrorNodeSelector
 */
export function readNodeSelector(fields: Fields, path: string): NodeSelector {
  const terms = list(fields, "nodeSelectorTerms", `${path}.nodeSelectorTerms`);
  return nodeSelector(terms.map((term, index) => readTerm(term, `${path}.nodeSelectorTerms[${index}]`)));
}

const matchesNothing: Term = { labels: [], fields: [] };

function readTerm(raw: unknown, path: string): Term {
  const term = object(raw, path);
  const labels = readRequirements(term, "matchExpressions", path, compile);
  const fields = readRequirements(term, "matchFields", path, compileField);
  return labels && fields ? { labels, fields } : matchesNothing;
}

/**
 * Fields know In and NotIn with one value, which need not be fit for a label: a node's name may have 253 characters.
 *
 * @see component-helpers scheduling/corev1/nodeaffinity/nodeaffinity.go, nodeSelectorRequirementsAsFieldSelector
 */
function compileField(key: string, operator: string, values: readonly string[]): Requirement | undefined {
  const isKnown = operator === "In" || operator === "NotIn";
  return isKnown && values.length === 1 ? requirement(key, operator, values) : undefined;
}

/** Undefined when one of them is not valid. */
function readRequirements(
  fields: Fields,
  name: string,
  path: string,
  compileOne: typeof compile,
): Requirement[] | undefined {
  const found: Requirement[] = [];
  for (const [index, raw] of list(fields, name, `${path}.${name}`).entries()) {
    const where = `${path}.${name}[${index}]`;
    const one = object(raw, where);
    const read = compileOne(
      requiredText(one, "key", `${where}.key`),
      requiredText(one, "operator", `${where}.operator`),
      texts(one, "values", `${where}.values`),
    );
    if (!read) return undefined;
    found.push(read);
  }
  return found;
}

/** A LabelSelector: matchLabels and matchExpressions together. An invalid one is a fault, as upstream's error. */
export function readLabelSelector(fields: Fields, path: string): LabelSelector {
  const requirements: Requirement[] = [];
  for (const [key, value] of entries(fields, "matchLabels", `${path}.matchLabels`)) {
    const read = compile(key, "In", [value]);
    if (!read) throw new Fault(`${path}.matchLabels`, "has what can be no label");
    requirements.push(read);
  }
  for (const [index, raw] of list(fields, "matchExpressions", `${path}.matchExpressions`).entries()) {
    const where = `${path}.matchExpressions[${index}]`;
    const one = object(raw, where);
    const operator = requiredText(one, "operator", `${where}.operator`);
    const read = compile(requiredText(one, "key", `${where}.key`), operator, texts(one, "values", `${where}.values`));
    if (!read || read.number !== undefined)
      throw new Fault(`${where}.operator`, `"${shown(operator)}" is not valid here`);
    requirements.push(read);
  }
  return labelSelector(requirements);
}

/** allowedTopologies of a class; absent when empty, which allows every node. A term without expressions matches nothing. */
export function readTopologies(fields: Fields, path: string): NodeSelector | undefined {
  const terms = list(fields, "allowedTopologies", path);
  if (terms.length === 0) return undefined;
  return nodeSelector(
    terms.map((raw, index): Term => {
      const where = `${path}[${index}]`;
      const expressions = list(object(raw, where), "matchLabelExpressions", `${where}.matchLabelExpressions`);
      const labels = expressions.map((expression, position) => {
        const at = `${where}.matchLabelExpressions[${position}]`;
        const one = object(expression, at);
        return compile(requiredText(one, "key", `${at}.key`), "In", texts(one, "values", `${at}.values`));
      });
      return labels.some((one) => one === undefined)
        ? matchesNothing
        : { labels: labels.filter((one) => one !== undefined), fields: [] };
    }),
  );
}

const labelName = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const labelPrefix = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const labelNameMax = 63;
const labelPrefixMax = 253;

/** @see apimachinery pkg/labels/selector.go, NewRequirement, which refuses keys and values that no label can have */
function compile(key: string, operator: string, values: readonly string[]): Requirement | undefined {
  return isLabelKey(key) && values.every(isLabelValue) ? requirement(key, operator, values) : undefined;
}

function isLabelKey(key: string): boolean {
  const slash = key.indexOf("/");
  if (slash > labelPrefixMax || (slash >= 0 && !labelPrefix.test(key.slice(0, slash)))) return false;
  const name = key.slice(slash + 1);
  return name.length <= labelNameMax && labelName.test(name);
}

function isLabelValue(value: string): boolean {
  return value === "" || (value.length <= labelNameMax && labelName.test(value));
}
