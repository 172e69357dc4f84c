/** Label and field selectors, compiled once for a list or a watch. */
import type { Version } from "./collection.ts";
import { groupVersionOf, type Resource } from "./resources.ts";
import { type ApiError, badRequest } from "./status.ts";
import { isLabelValue, isQualifiedName } from "./validation.ts";

export type Matches = (version: Version) => boolean;

type LabelTest = (labels: Readonly<Record<string, string>> | undefined) => boolean;

const token = /\s*(==|!=|[=(),!<>]|[^\s=!(),<>]+)/gy;

function unparsable(text: string, why: string): ApiError {
  return badRequest(`unable to parse requirement: ${why} in ${JSON.stringify(text)}`);
}

function tokensOf(text: string): string[] {
  const tokens = [...text.matchAll(token)].map(([, found = ""]) => found);
  if (tokens.join("") !== text.replaceAll(/\s/g, "")) throw unparsable(text, "unexpected character");
  return tokens;
}

/** The grammar of `labels.Parse`: a, !a, a=b, a==b, a!=b, a in (b,c), a notin (b,c), a>1, a<1, joined by commas. */
function compileLabelSelector(text: string): LabelTest {
  const tokens = tokensOf(text);
  const tests: LabelTest[] = [];
  let next = 0;
  const take = (): string => tokens[next++] ?? "";
  while (next < tokens.length) {
    tests.push(compileRequirement(text, take, () => tokens[next]));
    const comma = take();
    if (comma !== "" && comma !== ",") throw unparsable(text, `found '${comma}', expected: ',' or 'end of string'`);
    if (comma === "," && next === tokens.length) throw unparsable(text, "found '', expected: identifier after ','");
  }
  return (labels) => tests.every((test) => test(labels));
}

function compileRequirement(text: string, take: () => string, peek: () => string | undefined): LabelTest {
  const negated = peek() === "!" && take() === "!";
  const key = take();
  if (!isQualifiedName(key)) throw unparsable(text, `key: Invalid value: "${key}"`);
  const value = (labels: Readonly<Record<string, string>> | undefined): string | undefined =>
    labels && Object.hasOwn(labels, key) ? labels[key] : undefined;
  const operator = peek();
  if (negated) return (labels) => value(labels) === undefined;
  if (operator === undefined || operator === ",") return (labels) => value(labels) !== undefined;
  take();
  if (operator === "in" || operator === "notin") {
    const set = takeSet(text, take, peek);
    if (operator === "in") return (labels) => set.has(value(labels) ?? "\0");
    return (labels) => !set.has(value(labels) ?? "\0");
  }
  const wanted = peek() === undefined || peek() === "," ? "" : take();
  if (!isLabelValue(wanted)) throw unparsable(text, `values: Invalid value: "${wanted}"`);
  if (operator === "=" || operator === "==") return (labels) => value(labels) === wanted;
  if (operator === "!=") return (labels) => value(labels) !== wanted;
  if (operator === ">") return (labels) => Number(value(labels)) > Number(wanted);
  if (operator === "<") return (labels) => Number(value(labels)) < Number(wanted);
  throw unparsable(text, `found '${operator}', expected: in, notin, =, ==, !=, gt, lt`);
}

function takeSet(text: string, take: () => string, peek: () => string | undefined): ReadonlySet<string> {
  const set = new Set<string>();
  const open = take();
  if (open !== "(") throw unparsable(text, `found '${open}' expected: '('`);
  for (;;) {
    // "(a,)" and "()" name the empty value, as the real parser reads them.
    const value = peek() === "," || peek() === ")" ? "" : take();
    if (!isLabelValue(value)) throw unparsable(text, `values: Invalid value: "${value}"`);
    set.add(value);
    const after = take();
    if (after === ")") return set;
    if (after !== ",") throw unparsable(text, `found '${after}', expected: ',' or ')'`);
  }
}

/** "a=b,c!=d" over the resource's selectable fields. @throws ApiError 400 for a field it does not have */
function compileFieldSelector(text: string, resource: Resource): Matches {
  const names = [...resource.fields.keys()];
  const tests = text
    .split(",")
    .filter((term) => term !== "")
    .map((term): Matches => {
      const [, field = "", operator = "", value = ""] = /^(.*?)(!=|==|=)(.*)$/.exec(term) ?? [];
      if (operator === "") throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`);
      const wanted = value.replaceAll(/\\([\\,=])/g, "$1");
      const index = names.indexOf(field);
      if (index < 0 && field !== "metadata.name" && field !== "metadata.namespace")
        throw unknownField(text, field, resource);
      const read = (version: Version): string | undefined => {
        if (field === "metadata.name") return version.name;
        return field === "metadata.namespace" ? version.namespace : version.fields[index];
      };
      return operator === "!=" ? (version) => read(version) !== wanted : (version) => read(version) === wanted;
    });
  return (version) => tests.every((test) => test(version));
}

function unknownField(text: string, field: string, resource: Resource): ApiError {
  const about = `${groupVersionOf(resource)}, Resource=${resource.plural}`;
  return badRequest(
    `Unable to find "${about}" that match label selector "", field selector "${text}": field label not supported: ${field}`,
  );
}

/** Both selectors of a list or watch as one test. */
export function compileSelectors(o: { labelSelector: string; fieldSelector: string; resource: Resource }): Matches {
  const labels = o.labelSelector.trim() === "" ? undefined : compileLabelSelector(o.labelSelector);
  const fields = o.fieldSelector === "" ? undefined : compileFieldSelector(o.fieldSelector, o.resource);
  return (version) => (!labels || labels(version.labels)) && (!fields || fields(version));
}
