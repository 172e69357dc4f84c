/** A KubeSchedulerConfiguration as the rules look at it: what is left out has kube-scheduler's default, what is of a wrong form counts as left out. */

import type { Path } from "../config/sections.ts";
import { defaultSchedulerName } from "./generate.ts";
import { type ExtensionPoint, extensionPoints } from "./keys.ts";

export type Fields = Readonly<Record<string, unknown>>;

export interface Entry {
  readonly path: Path;
  readonly fields: Fields;
  readonly url: string;
  /** Verbs that it has, by their keys. */
  readonly verbs: ReadonlyMap<VerbKey, string>;
}

export const verbKeys = ["filterVerb", "prioritizeVerb", "preemptVerb", "bindVerb"] as const;
export type VerbKey = (typeof verbKeys)[number];

export type Standing = "on" | "off" | "partly";

export interface Profile {
  readonly path: Path;
  readonly fields: Fields;
  readonly name: string;
  /** VolumeBinding's. */
  readonly binding: Standing;
  runs(plugin: string, point: ExtensionPoint): boolean;
}

export interface View {
  readonly top: Fields;
  readonly profiles: readonly Profile[];
  readonly entries: readonly Entry[];
  /** Those of the entries that are Berth's. */
  readonly berth: readonly Entry[];
  /** Whether Berth is to do the work of VolumeBinding, in one profile at least. */
  readonly replaces: boolean;
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** What stands there, in words. Whatever a file has in the place of a text or a number must not break the message about it. */
export function saysOf(value: unknown): string {
  if (value === undefined || value === null) return "is not set";
  if (typeof value !== "object") return `is ${value}`;
  return Array.isArray(value) ? "is a list" : "is a mapping";
}

/** @param url  where Berth listens; left out, its entries are told by its port or its name, or by being the only ones */
export function viewOf(value: unknown, url: string | undefined): View {
  const top = fieldsOf(value);
  const entries = listOf(top["extenders"]).map((raw, index) => entryOf(fieldsOf(raw), ["extenders", index]));
  const listed = listOf(top["profiles"]).map((raw, index) => profileOf(fieldsOf(raw), ["profiles", index]));
  const profiles = listed.length > 0 ? listed : [profileOf({}, ["profiles"])];
  const berth = berthsOf(entries, url);
  const replaces =
    profiles.some(({ binding }) => binding === "off") || berth.some(({ verbs }) => verbs.has("bindVerb"));
  return { top, profiles, entries, berth, replaces };
}

function entryOf(fields: Fields, path: Path): Entry {
  const verbs = verbKeys.flatMap((key) => (textOf(fields[key]) === "" ? [] : [[key, textOf(fields[key])] as const]));
  return { path, fields, url: textOf(fields["urlPrefix"]), verbs: new Map(verbs) };
}

/** Without the path of the verbs, and what may be written either way. */
export function bareUrl(url: string): string {
  return url.replace(/\/+$/, "").replace(/\/v1$/, "");
}

function berthsOf(entries: readonly Entry[], wanted: string | undefined): readonly Entry[] {
  if (wanted !== undefined) return entries.filter(({ url }) => bareUrl(url) === bareUrl(wanted));
  const named = entries.filter(({ url }) => /berth|:10290\b/i.test(url));
  if (named.length > 0) return named;
  return new Set(entries.map(({ url }) => bareUrl(url))).size === 1 ? entries : [];
}

/** Where VolumeBinding does its work; that it scores too is another matter. */
const bindingPoints = ["preFilter", "filter", "reserve", "preBind"] as const;

function profileOf(fields: Fields, path: Path): Profile {
  const plugins = fieldsOf(fields["plugins"]);
  const runs: Profile["runs"] = (plugin, point) => runsAt(plugins, plugin, point);
  const places = bindingPoints.filter((point) => runs("VolumeBinding", point)).length;
  return {
    path,
    fields,
    name: textOf(fields["schedulerName"]) || defaultSchedulerName,
    binding: places === 0 ? "off" : places === bindingPoints.length ? "on" : "partly",
    runs,
  };
}

/** A plugin that is on by default. What is said of a point goes before what is said of all. @see framework/runtime/framework.go, expandMultiPointPlugins */
function runsAt(plugins: Fields, plugin: string, point: ExtensionPoint): boolean {
  for (const set of [fieldsOf(plugins[point]), fieldsOf(plugins["multiPoint"])]) {
    if (names(set["enabled"]).includes(plugin)) return true;
    const disabled = names(set["disabled"]);
    if (disabled.includes(plugin) || disabled.includes("*")) return false;
  }
  return true;
}

function names(plugins: unknown): string[] {
  return listOf(plugins).map((plugin) => textOf(fieldsOf(plugin)["name"]));
}

/** Where in the file the plugin is turned off. */
export function whereOff({ path, fields }: Profile, plugin: string): Path {
  const plugins = fieldsOf(fields["plugins"]);
  for (const point of ["multiPoint", ...extensionPoints]) {
    const disabled = names(fieldsOf(plugins[point])["disabled"]);
    const index = disabled.findIndex((name) => name === plugin || name === "*");
    if (index >= 0) return [...path, "plugins", point, "disabled", index];
  }
  return path;
}
