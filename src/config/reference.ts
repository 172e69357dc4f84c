/** The keys as the table of docs/configuration.md. */
import { defaults } from "../config.ts";
import { defaultOf } from "./json-schema.ts";
import { configuration } from "./keys.ts";
import type { Entry, Section } from "./sections.ts";
import { listenerRules } from "./tls.ts";

/** Markdown: a row a key, and a line for each rule of keys together. */
export function reference(): string {
  const rows = rowsOf(configuration.section, "", defaults);
  const rules = [...listenerRules.map((says) => `- ${says}`), ...rulesOf(configuration.section, "")];
  return `| key | value | default | what it is for |
| --- | --- | --- | --- |
${rows.join("\n")}

Beyond single values, these hold:

${rules.join("\n")}
`;
}

function rowsOf(section: Section, before: string, under: unknown): string[] {
  return Object.entries(section).flatMap(([key, entry]) => {
    const title = `${before}${key}`;
    const row = `| \`${title}\` | ${formOf(entry)} | ${defaultText(key, entry, under)} | ${link(entry.says)} |`;
    if ("section" in entry) return [row, ...rowsOf(entry.section, `${title}.`, defaultOf(under, key))];
    return "listOf" in entry ? [row, ...rowsOf(entry.listOf, `${title}[].`, undefined)] : [row];
  });
}

function formOf(entry: Entry): string {
  if ("section" in entry) return "mapping";
  if ("listOf" in entry) return "list of mappings";
  return "each" in entry ? `list of: ${entry.each.short}` : entry.form.short;
}

function defaultText(key: string, entry: Entry, under: unknown): string {
  if ("listOf" in entry) return entry.shownOnly ? "" : "none";
  if ("section" in entry) return entry.without ?? "";
  const found = defaultOf(under, entry.member);
  if (found !== undefined) return `\`${"form" in entry ? entry.form.write(found) : found}\``;
  return entry.without || (key === "apiVersion" || key === "kind" || entry.example ? "needed" : "");
}

/** Pages are named from the top of the repository, the table stands among them. */
function link(says: string): string {
  return says.replaceAll(/docs\/([\w-]+)\.md/g, "[$1]($1.md)");
}

function rulesOf(section: Section, before: string): string[] {
  return Object.entries(section).flatMap(([key, entry]) => {
    const title = `${before}${key}`;
    const own = "rules" in entry && entry.rules ? entry.rules.map(({ says }) => `- \`${title}\`: ${says}`) : [];
    if ("section" in entry) return [...own, ...rulesOf(entry.section, `${title}.`)];
    return "listOf" in entry ? [...own, ...rulesOf(entry.listOf, `${title}[].`)] : own;
  });
}
