/** Finds what is wrong in a KubeSchedulerConfiguration with Berth in it. @see VB §1.3, §1.5, §1.7 */

import { type Path, titleOf } from "../config/sections.ts";
import { readSources, type Source } from "../config/source.ts";
import type { Milliseconds } from "../runtime/runtime.ts";
import { nearestName } from "../scheduling/near-name.ts";
import { checkEntries } from "./entry-rules.ts";
import type { Finding } from "./findings.ts";
import { apiVersion, kind } from "./generate.ts";
import { configurationKeys, type Form, formTitles } from "./keys.ts";
import { checkProfiles, checkWiring, type Knowledge, type Say } from "./rules.ts";
import { fieldsOf, saysOf, viewOf } from "./view.ts";

export interface CheckOptions extends Knowledge {
  /** Where Berth listens, where its entries cannot be told by their port or name. */
  readonly url?: string | undefined;
  /** Berth's `binding.timeout`. */
  readonly bindTimeoutMs: Milliseconds;
}

/** In the order of the lines. Never throws, whatever the text. */
export function checkSchedulerConfig(text: string, options: CheckOptions): Finding[] {
  const sources = readSources(text, { version: "1.1" });
  if (!sources.ok) return [{ id: "unreadable", line: sources.line, detail: sources.problem }];
  const [first, ...others] = sources.documents;
  const findings: Finding[] = [];
  if (!first) return [{ id: "no-configuration", line: 1, detail: "the file is empty" }];
  if (!isConfiguration(first)) findings.push(notOne(first));
  for (const other of others) {
    findings.push({ id: "other-documents", line: other.lineOf([]), detail: "another document begins here" });
  }
  for (const document of sources.documents.filter(isConfiguration)) findings.push(...checkDocument(document, options));
  return findings.sort((one, other) => one.line - other.line);
}

function isConfiguration({ value }: Source): boolean {
  return fieldsOf(value)["kind"] === kind;
}

/** Where files of other kinds belong. */
const otherReaders: Readonly<Record<string, string>> = {
  ConfigMap: "the text in its data is what is checked",
  BerthConfiguration: '"berth config --check" looks at files of that kind',
};

function notOne({ value, lineOf }: Source): Finding {
  const named = fieldsOf(value)["kind"];
  const more = typeof named === "string" ? otherReaders[named] : undefined;
  const detail = `kind is ${typeof named === "string" ? named : "not set"}${more === undefined ? "" : `; ${more}`}`;
  return { id: "no-configuration", line: lineOf(["kind"]), detail };
}

function checkDocument({ value, lineOf }: Source, options: CheckOptions): Finding[] {
  const findings: Finding[] = [];
  const say: Say = (id, path, detail) => {
    findings.push({ id, line: lineOf(path), detail: path.length === 0 ? detail : `${titleOf(path)} ${detail}` });
  };
  const version = fieldsOf(value)["apiVersion"];
  if (version !== apiVersion) {
    // Other versions have other keys: what follows would be guesswork.
    say("old-version", ["apiVersion"], saysOf(version));
    return findings;
  }
  checkForm(value, configurationKeys, [], say);
  const view = viewOf(value, options.url);
  checkProfiles(view, options, say);
  checkWiring(view, say);
  checkEntries(view, options.bindTimeoutMs, say);
  return findings;
}

/** What is null is left out. */
function checkForm(value: unknown, form: Form, path: Path, say: Say): void {
  if (value === null || value === undefined) return;
  if (typeof form === "string") {
    if (!hasForm(value, form)) say("wrong-value", path, `is not ${formTitles[form]}`);
  } else if (Array.isArray(form)) {
    if (!Array.isArray(value)) say("wrong-value", path, "is not a list");
    else
      for (const [index, item] of value.entries()) checkForm(item, (form as readonly [Form])[0], [...path, index], say);
  } else if (typeof value !== "object" || Array.isArray(value))
    say("wrong-value", path, "is not a mapping of keys to values");
  else {
    const keys = form as Readonly<Record<string, Form>>;
    for (const [key, inner] of Object.entries(value)) {
      const known = Object.hasOwn(keys, key) ? keys[key] : undefined;
      if (known !== undefined) checkForm(inner, known, [...path, key], say);
      else {
        const near = nearestName(key, Object.keys(keys));
        say("unknown-key", [...path, key], near ? `is not known; did you mean "${near}"?` : "is not known");
      }
    }
  }
}

function hasForm(value: unknown, form: Extract<Form, string>): boolean {
  switch (form) {
    case "anything":
      return true;
    case "text":
      return typeof value === "string";
    case "flag":
      return typeof value === "boolean";
    case "number":
      return typeof value === "number";
    case "whole":
      return Number.isSafeInteger(value);
    case "percent":
      return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= 100;
    case "duration":
      // As Go reads one: a sign, then numbers with their units, or 0.
      return typeof value === "string" && /^[-+]?(0|(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h))+$/.test(value);
  }
}
