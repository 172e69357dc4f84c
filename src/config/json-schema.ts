/** The configuration's JSON Schema, for editors and for the validation itself. */
import { type Config, defaults } from "../config.ts";
import { apiVersion, configuration, kind } from "./keys.ts";
import type { Entry, Listed, Nested, Rule, Section } from "./sections.ts";
import type { JsonSchema } from "./values.ts";

/** An identifier: nothing has to be there. */
const id = `https://${apiVersion}/${kind}.schema.json`;

export function configurationSchema(): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: id,
    title: kind,
    ...mapping(configuration, defaults, "object"),
  };
}

/** A section whose lines are all commented out is null, and has its defaults. */
type MappingType = "object" | readonly ["object", "null"];

function mapping({ section, says, needs, rules }: Nested, under: unknown, type: MappingType): JsonSchema {
  return { description: plain(says), type, ...members(section, needs, under), ...ruled(rules) };
}

function members(section: Section, needs: readonly string[] | undefined, under: unknown): JsonSchema {
  const properties = Object.entries(section).map(([key, entry]) => [key, schemaOf(key, entry, under)]);
  return {
    properties: Object.fromEntries(properties),
    ...(needs && { required: needs }),
    additionalProperties: false,
  };
}

function ruled(rules: readonly Rule<never>[] = []): JsonSchema {
  // A keyword of objects, or of lists, lets null pass, and so both sides of a choice.
  const said = rules.flatMap(({ schema }) => (schema ? [{ anyOf: [{ type: "null" }, schema] }] : []));
  return said.length > 0 ? { allOf: said } : {};
}

/** @param under  the defaults of the section that the key is of */
function schemaOf(key: string, entry: Entry, under: unknown): JsonSchema {
  if ("section" in entry) return mapping(entry, defaultOf(under, key), ["object", "null"]);
  if ("listOf" in entry) return list(entry, defaultOf(under, key));
  const found = defaultOf(under, entry.member);
  const description = plain(`${entry.says}${entry.without ? ` Without it: ${entry.without}.` : ""}`);
  if ("each" in entry) return { description, type: "array", minItems: 1, items: entry.each.schema };
  return { description, ...entry.form.schema, ...(found !== undefined && { default: entry.form.write(found) }) };
}

function list({ listOf, says, needs, rules }: Listed, found: unknown): JsonSchema {
  const items = { type: "object", ...members(listOf, needs, undefined) };
  return {
    description: plain(says),
    type: ["array", "null"],
    items,
    ...(found !== undefined && { default: found }),
    ...ruled(rules),
  };
}

/** @param under  a `Config`, or one of its sections */
export function defaultOf(under: unknown, member: string): unknown {
  return (under as Readonly<Record<string, unknown>> | undefined)?.[member as keyof Config];
}

/** Without the marks of Markdown. */
function plain(says: string): string {
  return says.replaceAll("`", '"');
}
