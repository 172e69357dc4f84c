/** From the text of a file to a configuration, or to all that is wrong with it. */
import { applyFlags, type Config, ConfigError, type ConfigFlags, overDefaults } from "../config.ts";
import { readClasses } from "./classes.ts";
import { type DocumentOutcome, type Mistake, readDocument } from "./document.ts";
import { configurationSchema } from "./json-schema.ts";
import { configuration } from "./keys.ts";
import type { Read } from "./sections.ts";
import { structureOf } from "./structure.ts";
import { listenersProblems } from "./tls.ts";

/** Compiling the schema takes longer than most commands do otherwise: it waits for the first file. */
let structure: ReturnType<typeof structureOf> | undefined;

function read(text: string): DocumentOutcome {
  structure ??= structureOf(configurationSchema(), configuration);
  return readDocument(text, configuration, structure);
}

function configOf({ apiVersion: _, kind: __, ...value }: Read): Config {
  const { classes } = value;
  return overDefaults(Array.isArray(classes) ? { ...value, classes: readClasses(classes) } : value);
}

/**
 * Reads a configuration file's text over the defaults.
 *
 * @param path  for messages only
 * @throws ConfigError naming the file, and the line and the key of the first mistake
 */
export function parseConfig(text: string, path: string): Config {
  const outcome = read(text);
  if (outcome.ok) return configOf(outcome.value);
  const [first, ...others] = outcome.mistakes.map((mistake) => mistakeLine(mistake, path));
  const more = others.length === 0 ? "" : ` (and ${others.length} more: see "berth config --check ${path}")`;
  throw new ConfigError(`${first}${more}`);
}

/**
 * All that is wrong with a file, in the order of the lines, and with the listeners as `berth serve` would open them.
 *
 * @throws ConfigError naming the flag that cannot be read
 */
export function checkConfig(text: string, flags: ConfigFlags = {}): readonly Mistake[] {
  const outcome = read(text);
  if (!outcome.ok) return outcome.mistakes;
  const problems = listenersProblems(applyFlags(configOf(outcome.value), flags));
  return problems
    .map(({ key, problem }) => ({ line: outcome.lineOf([key]), key, problem }))
    .sort((one, other) => one.line - other.line);
}

export function mistakeLine({ line, key, problem }: Mistake, path: string): string {
  return `${path}:${line}: ${key}${key === "" ? "" : " "}${problem}`;
}
