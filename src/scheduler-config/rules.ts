/** What the parts of a file say of each other: profiles, plugins, and who binds. Rules about single entries are in entry-rules.ts. */

import type { Path } from "../config/sections.ts";
import type { MistakeId } from "./findings.ts";
import { defaultSchedulerName } from "./generate.ts";
import {
  bareUrl,
  type Fields,
  fieldsOf,
  listOf,
  type Profile,
  saysOf,
  textOf,
  type VerbKey,
  type View,
  whereOff,
} from "./view.ts";

/** Reports what stands at the path; `detail` follows its name in the message. */
export type Say = (id: MistakeId, path: Path, detail: string) => void;

export interface Knowledge {
  /** Of Kubernetes: 37 for 1.37; left out, the newest. */
  readonly minor?: number | undefined;
  /** Of Berth's configuration; left out where that is not at hand. */
  readonly schedulerName?: string | undefined;
}

export function checkProfiles(
  view: View,
  { minor = Number.POSITIVE_INFINITY, schedulerName }: Knowledge,
  say: Say,
): void {
  const names = view.profiles.map(({ name }) => name);
  for (const [index, { name, path }] of view.profiles.entries()) {
    if (names.indexOf(name) < index) say("profile-twice", [...path, "schedulerName"], `is ${name} again`);
  }
  if (schedulerName !== undefined && !names.includes(schedulerName)) {
    say("scheduler-name", ["profiles"], `name ${[...new Set(names)].join(", ")}, and Berth expects ${schedulerName}`);
  }
  checkLease(view, names, say);
  checkSampling(view, say);
  for (const profile of view.profiles) {
    checkBinding(view, profile, say);
    checkNeighbours(profile, say);
    if (minor >= 37) checkScoring(view, profile, say);
    if (view.replaces) checkPreemption(profile, say);
  }
}

function checkLease({ top }: View, names: readonly string[], say: Say): void {
  const { leaderElect = true, resourceName, resourceNamespace } = fieldsOf(top["leaderElection"]);
  if (names.includes(defaultSchedulerName) || leaderElect === false) return;
  const name = textOf(resourceName) || "kube-scheduler";
  const namespace = textOf(resourceNamespace) || "kube-system";
  if (name !== "kube-scheduler" || namespace !== "kube-system") return;
  say("lease-shared", ["leaderElection", "resourceName"], "is kube-scheduler");
}

/** What a profile says goes before what the file says of all. */
function checkSampling({ top, profiles }: View, say: Say): void {
  const key = "percentageOfNodesToScore";
  const told = (fields: Fields): unknown => fields[key] ?? undefined;
  if (told(top) !== 100 && profiles.some(({ fields }) => told(fields) === undefined)) {
    say("nodes-sampled", [key], saysOf(top[key]));
  }
  for (const { path, fields } of profiles) {
    const own = told(fields);
    if (own !== undefined && own !== 100) say("nodes-sampled", [...path, key], saysOf(own));
  }
}

function checkBinding({ berth }: View, profile: Profile, say: Say): void {
  const { binding, path, name } = profile;
  if (binding === "partly") {
    say("volume-binding-partly", whereOff(profile, "VolumeBinding"), `leaves it on elsewhere in profile ${name}`);
  }
  const binds = berth.some(({ verbs }) => verbs.has("bindVerb"));
  if (binding === "on" && binds) say("volume-binding-on", path, `(${name}) has VolumeBinding on`);
}

const neighbours = [
  ["VolumeZone", ["preFilter", "filter"]],
  ["VolumeRestrictions", ["preFilter", "filter"]],
  ["NodeVolumeLimits", ["filter"]],
] as const;

function checkNeighbours(profile: Profile, say: Say): void {
  for (const [plugin, points] of neighbours) {
    if (points.every((point) => profile.runs(plugin, point))) continue;
    say("volume-plugin-off", whereOff(profile, plugin), `turns ${plugin} off in profile ${profile.name}`);
  }
}

function checkScoring({ berth, replaces }: View, { binding, runs, path, name }: Profile, say: Say): void {
  if (replaces || binding !== "on" || !runs("VolumeBinding", "score")) return;
  if (berth.some(({ verbs }) => verbs.has("prioritizeVerb")))
    say("storage-scoring", path, `(${name}) lets VolumeBinding score`);
}

function checkPreemption({ fields, path, binding, runs }: Profile, say: Say): void {
  if (binding !== "off" || !runs("DefaultPreemption", "postFilter")) return;
  const configs = listOf(fields["pluginConfig"]).map(fieldsOf);
  const index = configs.findIndex(({ name }) => name === "DefaultPreemption");
  const key = "minCandidateNodesPercentage";
  const percentage = fieldsOf(configs[index]?.["args"])[key];
  if (percentage === 100) return;
  const where = index < 0 ? [...path, "pluginConfig"] : [...path, "pluginConfig", index, "args", key];
  const says = saysOf(percentage);
  say("preemption-candidates", where, index < 0 ? `has no DefaultPreemption, whose ${key} ${says}` : says);
}

/** Who asks whom for what, over all entries together. */
export function checkWiring(view: View, say: Say): void {
  const { entries, berth, profiles, replaces } = view;
  const binders = entries.filter(({ verbs }) => verbs.has("bindVerb"));
  for (const { path } of binders.slice(1)) say("two-bind", [...path, "bindVerb"], "is the second one");
  if (profiles.some(({ binding }) => binding === "off") && binders.length < 2) {
    const [binder] = binders;
    if (!binder) say("nobody-binds", ["extenders"], "have no bindVerb");
    else if (!berth.includes(binder)) say("other-binds", [...binder.path, "bindVerb"], `is that of ${binder.url}`);
  }
  if (berth.length === 0) {
    say(
      "no-berth",
      ["extenders"],
      entries.length === 0 ? "are not there" : "are several, and none can be told to be Berth",
    );
    return;
  }
  const [first] = berth;
  const elsewhere = berth.find(({ url }) => bareUrl(url) !== bareUrl(first?.url ?? ""));
  if (elsewhere) say("two-berths", [...elsewhere.path, "urlPrefix"], `is ${elsewhere.url}, and not ${first?.url}`);
  const has = (key: VerbKey): boolean => berth.some(({ verbs }) => verbs.has(key));
  const where = first?.path ?? ["extenders"];
  if (!has("filterVerb")) say("no-filter", where, "and Berth's other entries have no filterVerb");
  if (!has("prioritizeVerb")) say("no-prioritize", where, "and Berth's other entries have no prioritizeVerb");
  if (replaces && !has("preemptVerb")) say("no-preempt", where, "and Berth's other entries have no preemptVerb");
  for (const key of ["filterVerb", "prioritizeVerb", "preemptVerb"] as const) {
    const second = berth.filter(({ verbs }) => verbs.has(key))[1];
    if (second) say("asked-twice", [...second.path, key], "is there in an entry before it");
  }
}
