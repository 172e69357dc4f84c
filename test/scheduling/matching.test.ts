/** Which volume suits which claim: the rule that is named first where none does, and what makes a reservation (VB §3.3, D14). */
import { expect, test } from "vitest";
import { whyNot } from "../../src/scheduling/matching.ts";
import { volumeName } from "../../src/scheduling/names.ts";
import { World } from "../support/world.ts";

/** A claim of 5Gi and a volume of 10Gi that suits, but for what is said here. */
interface Rule {
  readonly pv?: string;
  readonly size?: string;
  readonly pvc?: string;
  readonly namedBy?: string;
  readonly says: string | undefined;
}

const rules: Record<string, Rule> = {
  "nothing is wrong": { says: undefined },
  "a size that is just enough": { size: "5Gi", says: undefined },
  "another class comes before all else": {
    pv: "class=fast block for=w uid=uw deleting",
    size: "1Gi",
    says: 'class "fast", the claim asks for "local"',
  },
  "its size comes before what waiting mends": {
    pv: "for=w uid=uw deleting block",
    size: "4Gi",
    says: "too small: 4Gi of 5Gi",
  },
  "a size that is told apart by its bytes alone": { size: "5368709119", says: "too small: 4.9Gi of 5Gi" },
  "sizes that look the same are told to the byte": {
    size: "5368709121",
    pvc: "x 5368709122",
    says: "too small: 5368709121 of 5368709122 bytes",
  },
  "its volumeMode": { pv: "block modes=ROX", says: "volumeMode Block, the claim asks for Filesystem" },
  "an access mode that it lacks": { pv: "modes=ROX vac=gold", says: "lacks an access mode the claim asks for" },
  "its attributes class": {
    pv: "vac=gold for=w uid=uw",
    says: 'volumeAttributesClass "gold", the claim asks for ""',
  },
  "another claim's": { pv: "for=w uid=uw deleting", says: "claimed by d/w" },
  "a claim's of this name that was before": { pv: "for=x uid=dead", says: "claimed by d/x" },
  "being deleted": { pv: "deleting phase=Failed", says: "being deleted" },
  "being deleted, though it names the claim": { pv: "for=x deleting", says: "being deleted" },
  "the claim's own, in any phase and with any labels": {
    pv: "for=x uid=ux phase=Failed",
    pvc: "x 5Gi selector=disk:ssd",
    says: undefined,
  },
  "a phase": { pv: "phase=Failed", pvc: "x 5Gi selector=disk:ssd", says: "phase Failed" },
  "no phase": { pv: "phase=", says: "phase not set" },
  "labels that it lacks": {
    pv: "label=disk:hdd",
    pvc: "x 5Gi selector=disk:ssd",
    namedBy: "d/w",
    says: "labels do not match the claim's selector",
  },
  "a pending claim that names it": { namedBy: "d/w", says: "named by pending claim d/w" },
};

test.for(Object.entries(rules))("why not: %s", ([, { pv = "", size = "10Gi", pvc = "x 5Gi", namedBy, says }]) => {
  const world = new World();
  world.apply(`pvc ${pvc}`);
  world.apply(`pv v ${size} on=a ${pv}`);
  const claim = world.state.get("claim", "d/x");
  const volume = world.state.volumes.get(volumeName("v"));
  expect(claim && volume && whyNot(claim, volume, namedBy)).toBe(says);
});

/** Node a has volume v, node b a free one. A claim for which v is reserved goes nowhere else. */
const reservations: Record<string, { pv: string; holds: boolean }> = {
  "by name": { pv: "v 10Gi for=x", holds: true },
  "by name and UID": { pv: "v 10Gi for=x uid=ux", holds: true },
  "whatever its phase": { pv: "v 10Gi for=x phase=Failed", holds: true },
  "to the byte": { pv: "v 5Gi for=x", holds: true },
  "not where it is another claim's of this name": { pv: "v 10Gi for=x uid=dead", holds: false },
  "not where it is of another class": { pv: "v 10Gi for=x class=other", holds: false },
  "not where it is being deleted": { pv: "v 10Gi for=x deleting", holds: false },
  "not where it is too small": { pv: "v 4Gi for=x", holds: false },
  "not where it is of another mode": { pv: "v 10Gi for=x block", holds: false },
  "not where it lacks an access mode": { pv: "v 10Gi for=x modes=ROX", holds: false },
  "not where it is of other attributes": { pv: "v 10Gi for=x vac=gold", holds: false },
};

test.for(Object.entries(reservations))("a volume is reserved for a claim: %s", ([, { pv, holds }]) => {
  const world = new World();
  for (const line of ["node a", "node b", "pv free 10Gi on=b", `pv ${pv} on=a`, "pvc x 5Gi"]) world.apply(line);
  const pod = world.pod("p", "x");
  expect(world.fitting(pod)).toEqual([holds ? "a" : "b"]);
  expect(world.planned(pod, holds ? "a" : "b")).toEqual([holds ? "x=v" : "x=free"]);
  expect(world.reasons(pod, holds ? "b" : "a")).toEqual([holds ? "preboundElsewhere" : "noMatchingVolume"]);
});
