/** What a script and its answers have in them: so that a generator which stops drawing something is found out. */
import type { Answer } from "./naive.ts";
import { hostname, type Script } from "./script.ts";

/** Names of what a script has, each once. */
export function featuresOf(script: Script, answers: readonly Answer[]): Set<string> {
  const found = new Set(script.flatMap(ofLine));
  const pvcs = script.filter((line) => line.verb === "pvc");
  const mounted = new Set(pvcs.map(({ name }) => name));
  const askers = new Map<string, Set<string>>();
  for (const line of script) {
    if (!("claims" in line)) continue;
    for (const claim of line.claims) askers.set(claim, (askers.get(claim) ?? new Set()).add(line.pod));
    if (line.claims.some((claim) => !claim.startsWith("~") && !mounted.has(claim))) found.add("missing claim");
  }
  if ([...askers.values()].some((pods) => pods.size > 1)) found.add("shared claim");
  const names = script.flatMap((line) =>
    "name" in line && line.verb !== "delete" ? [`${line.verb} ${line.name}`] : [],
  );
  if (new Set(names).size < names.length) found.add("object changed");
  for (const answer of answers) for (const name of ofAnswer(answer)) found.add(name);
  return found;
}

function ofAnswer({ pod, nodes }: Answer): string[] {
  if (pod !== undefined) {
    const [kind, reason] = pod.split(/\s+/);
    return [kind === "refused" ? `pod ${reason}` : kind === "error" ? "pod fault" : "pod without claims"];
  }
  const found = nodes.flatMap(({ reason, contended, provisions, surplus, line, fits }) => [
    ...line.matchAll(/([a-zA-Z]+) d\//g).map(([, key]) => `node ${key}`),
    ...(reason === undefined ? [] : ["refused"]),
    ...(fits ? ["feasible"] : []),
    ...(contended ? ["contended"] : []),
    ...(provisions > 0 ? ["provisioned"] : []),
    ...(provisions > 1 ? ["several provisioned"] : []),
    ...(surplus > 0 ? ["surplus"] : []),
    ...(line.includes("==") ? ["feasible with a bound claim"] : []),
    ...(/ \S+=v.* \S+=v/.test(line) ? ["several static"] : []),
    ...(provisions > 0 && /=v/.test(line) ? ["static and provisioned"] : []),
    ...(line.split(" d/").length > 2 ? ["two reasons"] : []),
  ]);
  if (nodes.some(({ fits }) => fits) && nodes.some(({ fits }) => !fits)) found.push("some nodes fit");
  return found;
}

type Line = Script[number];

function ofLine(line: Line): string[] {
  switch (line.verb) {
    case "node":
      return line.labels[hostname] === line.name ? [] : ["hostname label unlike the name"];
    case "class":
      return [
        line.mode === "WaitForFirstConsumer" ? "" : `class mode ${line.mode}`,
        line.topologies.length > 0 ? "allowedTopologies" : "",
        line.name === "made-up" ? "made-up provisioner" : "",
      ];
    case "pv":
      return ofVolume(line);
    case "pvc":
      return ofClaim(line);
    case "driver":
      return [line.capacity ? "driver with capacity" : "driver without capacity"];
    case "capacity":
      return ofCapacity(line);
    case "delete":
      return [`deleted ${line.kind}`];
    case "csinode":
      return ["csinode"];
    default:
      return [line.verb];
  }
}

function ofVolume(line: Extract<Line, { verb: "pv" }>): string[] {
  const terms = line.terms ?? [];
  const requirements = terms.flatMap(({ labels }) => labels);
  return [
    line.terms ? "" : "volume on every node",
    terms.length > 1 ? "several affinity terms" : "",
    terms.some(({ labels, fields }) => labels.length + fields.length === 0) ? "empty affinity term" : "",
    terms.some(({ fields }) => fields.length > 0) ? "matchFields" : "",
    ...requirements.map(({ operator }) => `affinity ${operator}`),
    terms.some(({ labels }) => labels.length > 1) ? "several affinity keys" : "",
    line.claim !== undefined && line.claimUid === undefined ? "reserved by name" : "",
    line.claimUid === undefined
      ? ""
      : line.claimUid === `u${line.claim}`
        ? "reserved by uid"
        : "reserved for another uid",
    line.claim?.includes("/") ? "reserved in another namespace" : "",
    line.phase === "Available" ? "" : `phase ${line.phase}`,
    line.deleting ? "volume deleting" : "",
    line.madeBy === undefined ? "" : "volume of a provisioner",
    line.bytes > 1n << 53n ? "beyond 2^53" : "",
    ...ofShared(line),
  ];
}

function ofClaim(line: Extract<Line, { verb: "pvc" }>): string[] {
  return [
    ...(line.selector ?? []).map(({ operator }) => `selector ${operator}`),
    line.volume !== undefined ? (line.half ? "claim that names its volume" : "bound claim") : "",
    line.selected === undefined ? "" : line.selected === "n9" ? "selected node that is gone" : "selected node",
    line.bytes === undefined ? "claim without a size" : "",
    line.deleting ? "claim deleting" : "",
    line.lost ? "claim lost" : "",
    line.class === "" ? "claim without a class" : "",
    line.class === "gone" && line.beta === undefined ? "class that is gone" : "",
    line.owner === undefined ? "" : "ephemeral claim",
    ...ofShared(line),
  ];
}

function ofShared(line: Extract<Line, { verb: "pv" | "pvc" }>): string[] {
  return [
    line.beta === undefined ? "" : "class by beta annotation",
    line.block ? "block" : "",
    line.attributes === "" ? "" : "attributes class",
    line.modes.length > 1 ? "several access modes" : "",
    line.modes.includes("RWOP") ? "RWOP" : "",
  ];
}

function ofCapacity({ topology, capacity, max }: Extract<Line, { verb: "capacity" }>): string[] {
  return [
    topology === undefined
      ? "capacity nowhere"
      : topology.length === 0
        ? "capacity everywhere"
        : "capacity of a segment",
    max === undefined ? "" : "maximumVolumeSize",
    max !== undefined && capacity !== undefined && max > capacity ? "maximum above capacity" : "",
    max === undefined && capacity === undefined ? "capacity of nothing" : "",
  ];
}
