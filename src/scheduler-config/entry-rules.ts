/** What may be wrong with one extender, most of it with one of Berth's. */
import { parseDuration } from "../config/durations.ts";
import { isLoopback } from "../config/values.ts";
import type { Milliseconds } from "../runtime/runtime.ts";
import type { Say } from "./rules.ts";
import { type Entry, fieldsOf, listOf, saysOf, textOf, type VerbKey, type View } from "./view.ts";

/** Of an entry that names none. @see VB §1.3 */
const defaultTimeoutMs: Milliseconds = 5_000;
const slowMs: Milliseconds = 30_000;
const hastyMs: Milliseconds = 3_000;

export function checkEntries(view: View, bindTimeoutMs: Milliseconds, say: Say): void {
  for (const { path, fields, verbs } of view.entries) {
    const { weight } = fields;
    if (verbs.has("prioritizeVerb") && !(typeof weight === "number" && weight > 0)) {
      say("weight", [...path, "weight"], saysOf(weight));
    }
  }
  for (const entry of view.berth) {
    checkPaths(entry, say);
    checkTimeouts(entry, bindTimeoutMs, say);
    checkTls(entry, say);
    const { nodeCacheCapable } = entry.fields;
    if (asks(entry) && nodeCacheCapable !== true) {
      say("node-cache", [...entry.path, "nodeCacheCapable"], saysOf(nodeCacheCapable));
    }
    if (!view.replaces) continue;
    if (entry.fields["ignorable"] === true) say("ignorable", [...entry.path, "ignorable"], "is true");
    if (listOf(entry.fields["managedResources"]).length > 0) {
      say("managed-resources", [...entry.path, "managedResources"], "is set");
    }
  }
}

function asks({ verbs }: Entry): boolean {
  return verbs.has("filterVerb") || verbs.has("prioritizeVerb") || verbs.has("preemptVerb");
}

function checkPaths({ path, url, verbs }: Entry, say: Say): void {
  if (!/\/v1\/*$/.test(url)) say("wrong-path", [...path, "urlPrefix"], `is ${url}`);
  for (const [key, verb] of verbs) {
    if (`${verb}Verb` !== key) say("wrong-path", [...path, key], `is ${verb}`);
  }
}

function checkTimeouts(entry: Entry, bindTimeoutMs: Milliseconds, say: Say): void {
  const { path, fields, verbs } = entry;
  const binds = verbs.has("bindVerb");
  const others = [...verbs.keys()].filter((key: VerbKey) => key !== "bindVerb");
  if (binds && others.length > 0) {
    say("shared-timeout", [...path, "bindVerb"], `stands beside ${others.join(", ")}`);
    return;
  }
  const told = textOf(fields["httpTimeout"]);
  // 0 counts as not set.
  const timeoutMs = parseDuration(told) || defaultTimeoutMs;
  const where = [...path, "httpTimeout"];
  const says = told === "" ? `is not set, and ${defaultTimeoutMs / 1000}s by default` : `is ${told}`;
  if (binds && timeoutMs <= bindTimeoutMs)
    say("bind-timeout", where, `${says}; binding.timeout is ${bindTimeoutMs / 1000}s`);
  if (!verbs.has("filterVerb")) return;
  if (timeoutMs > slowMs) say("slow-filter", where, says);
  if (timeoutMs < hastyMs) say("hasty-filter", where, says);
}

function checkTls({ path, fields, url }: Entry, say: Say): void {
  const tls = fieldsOf(fields["tlsConfig"]);
  const has = (name: string): boolean => textOf(tls[`${name}File`]) !== "" || textOf(tls[`${name}Data`]) !== "";
  const isHttps = /^https:\/\//i.test(url);
  if (!isHttps && (fields["enableHTTPS"] === true || Object.keys(tls).length > 0)) {
    say("scheme-differs", [...path, "urlPrefix"], `is ${url}`);
    return;
  }
  if (!isHttps) {
    if (!isLoopback(hostOf(url))) say("plain-http", [...path, "urlPrefix"], `is ${url}`);
    return;
  }
  if (tls["insecure"] === true) say("insecure", [...path, "tlsConfig", "insecure"], "is true");
  else if (fields["enableHTTPS"] === true && !has("ca")) say("no-ca", [...path, "tlsConfig"], "names no CA");
  if (has("cert") !== has("key")) {
    say(
      "half-a-key-pair",
      [...path, "tlsConfig"],
      has("cert") ? "has a certificate, and no key" : "has a key, and no certificate",
    );
  } else if (!has("cert")) say("no-client-certificate", [...path, "tlsConfig"], "has none");
}

function hostOf(url: string): string {
  try {
    return new URL(url).hostname.replace(/^\[|\]$/g, "");
  } catch {
    return "";
  }
}
