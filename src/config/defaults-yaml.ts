/** Every key with its default, as a file to begin with. */
import { stringify } from "yaml";
import { defaults } from "../config.ts";
import { defaultOf } from "./json-schema.ts";
import { apiVersion, configuration, kind } from "./keys.ts";
import type { Entry, Field, Listed, Nested, Section, Several } from "./sections.ts";
import { text } from "./values.ts";

/** What editors that know the YAML language server look for. Beside the file: `berth config --schema` writes it. */
const head = `# yaml-language-server: $schema=configuration.schema.json
# All keys of Berth's configuration with their defaults: leave out what is to stay as it is. What has none is commented out.`;

const lineLengthMax = 110;

interface Printing {
  /** What stands before each key. */
  readonly indent: string;
  /** The defaults of the section. */
  readonly under: unknown;
  /** Whether what has no default is printed too, with its example, as if it were set. */
  readonly isWhole: boolean;
}

/** @param isWhole  whether keys without a default are set to their examples, not commented out */
export function defaultsYaml({ isWhole = false } = {}): string {
  const blocks = Object.entries(configuration.section).flatMap(([key, entry]) =>
    key === "apiVersion" || key === "kind"
      ? []
      : printed(key, entry, { indent: "", under: defaults, isWhole }).join("\n"),
  );
  return `${[`${head}\napiVersion: ${apiVersion}\nkind: ${kind}`, ...blocks].join("\n\n")}\n`;
}

function printed(key: string, entry: Entry, printing: Printing): string[] {
  if ("section" in entry) return printedSection(key, entry, printing);
  if ("listOf" in entry) return printedList(key, entry, printing);
  const { indent, isWhole } = printing;
  const found = defaultOf(printing.under, entry.member);
  const value = found === undefined ? (entry.example ?? "") : scalar(entry, found);
  const line = `${indent}${key}: ${value}`;
  return [...prose(wordsOf(entry), indent), ...shown([line], indent, found !== undefined || isWhole)];
}

function scalar(entry: Field | Several, value: unknown): string {
  return stringify("form" in entry ? entry.form.write(value) : value, { lineWidth: 0 }).trimEnd();
}

function wordsOf(entry: Field | Several): string {
  const { short } = "form" in entry ? entry.form : entry.each;
  const isPlain = short === text.short;
  const one = isPlain ? "" : ` ${short.slice(0, 1).toUpperCase()}${short.slice(1)}.`;
  return `${entry.says}${"each" in entry ? ` A list of ${short}s.` : one}${withoutIt(entry)}`;
}

function withoutIt({ without }: { readonly without?: string }): string {
  return without ? ` Without it: ${without}.` : "";
}

function printedSection(key: string, entry: Nested, { indent, under, isWhole }: Printing): string[] {
  const found = defaultOf(under, key);
  const inner = keysOf(entry.section, { indent: `${indent}  `, under: found, isWhole: isWhole || found === undefined });
  const lines = [`${indent}${key}:`, ...inner];
  return [
    ...prose(`${entry.says}${withoutIt(entry)}`, indent),
    ...shown(lines, indent, found !== undefined || isWhole),
  ];
}

function keysOf(section: Section, printing: Printing): string[] {
  return Object.entries(section).flatMap(([key, entry]) => printed(key, entry, printing));
}

function printedList(key: string, { says, example, shownOnly }: Listed, { indent, isWhole }: Printing): string[] {
  const lines = [`${key}:`, ...example.split("\n")].map((line) => `${indent}${line}`);
  const about = prose(says, indent);
  if (isWhole) return [...about, ...lines];
  return [...about, ...(shownOnly ? [] : [`${indent}${key}: []`]), ...shown(lines, indent, false)];
}

/** What is not in force is commented out, so that taking "# " away puts it in force. */
function shown(lines: readonly string[], indent: string, isInForce: boolean): readonly string[] {
  return isInForce ? lines : lines.map((line) => `${indent}# ${line.slice(indent.length)}`);
}

function prose(text: string, indent: string): string[] {
  const lines: string[] = [];
  for (const word of text.replaceAll("`", '"').split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < lineLengthMax) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${indent}# ${word}`);
  }
  return lines;
}
