/** Why a node that cannot serve a Pod's open claims is refused, and which claim is named: the oracle's own statement of it. */
import { compare, sizeOf } from "./naive-cluster.ts";
import { type Given, isPackable, type NaiveNode } from "./naive-node.ts";
import type { ClaimLine, VolumeLine } from "./script.ts";

interface Refusal {
  readonly reason: string;
  readonly claim: string;
}

/**
 * In this order: the first claim, by name, whose settled place is elsewhere; the smallest claim that must have a volume and is
 * left without one when as many as possible get one, those that must first, then the larger, then by name; the first class whose
 * provisioned claims no pool holds together.
 */
export function whyRefused(here: NaiveNode): Refusal {
  for (const claim of here.open) {
    const settled = here.settledFor(claim);
    if (settled === "selectedOtherNode" || settled === "preboundElsewhere")
      return { reason: settled, claim: claim.name };
  }
  const served = mostServed(here, false);
  const unserved = here.open.filter((claim, index) => !served[index] && mustHaveVolume(here, claim));
  const [smallest] = [...unserved].sort((a, b) => byImportance(b, a));
  if (smallest) return { reason: whyUnserved(here, smallest), claim: smallest.name };
  for (const drawing of here.drawing(served)) {
    const [first] = drawing;
    const rooms = first ? here.rooms(first, false) : [];
    if (!first || isPackable(drawing, rooms)) continue;
    const unpromised = rooms.map((room) => ({ ...room, free: room.total }));
    return { reason: isPackable(drawing, unpromised) ? "capacityAssumed" : "notEnoughSpace", claim: first.name };
  }
  throw new Error(`nothing refuses ${here.node.name}`);
}

/** Tells a disk that is missing from one that a sibling claim or another Pod has. */
function whyUnserved(here: NaiveNode, claim: ClaimLine): string {
  const reason = here.whyNotProvision(claim, false) ?? "noMatchingVolume";
  if (reason !== "noMatchingVolume" && reason !== "selectorNotProvisionable") return reason;
  const suiting = here.settledFor(claim) === "free" ? here.suiting(claim) : [];
  if (suiting.length === 0) return reason;
  const own = here.open.map((one) => here.settledFor(one));
  const others = suiting.filter((volume) => !own.includes(volume));
  if (others.length === 0) return "notEnoughVolumes";
  if (others.every(({ name }) => here.cluster.isAssumed(name))) return "volumeAssumed";
  const served = mostServed(here, true);
  const isEnough = here.open.every((one, index) => served[index] || !mustHaveVolume(here, one));
  return isEnough ? "volumeAssumed" : "notEnoughVolumes";
}

const byImportance = (a: ClaimLine, b: ClaimLine): number => compare(sizeOf(b), sizeOf(a)) || compare(a.name, b.name);

function mustHaveVolume(here: NaiveNode, claim: ClaimLine): boolean {
  return typeof here.settledFor(claim) === "object" || here.whyNotProvision(claim, false) !== undefined;
}

/** The most important claims that can have volumes at one time, whatever becomes of the others: all ways are tried. */
function mostServed(here: NaiveNode, evenAssumed: boolean): readonly Given[] {
  const must = here.open.filter((claim) => mustHaveVolume(here, claim)).sort(byImportance);
  const order = [...must, ...here.open.filter((claim) => !must.includes(claim)).sort(byImportance)];
  const ways = order.map((claim): readonly VolumeLine[] => {
    const settled = here.settledFor(claim);
    if (typeof settled === "object") return [settled];
    const suiting = settled === "free" ? here.suiting(claim) : [];
    return evenAssumed ? suiting : suiting.filter(({ name }) => !here.cluster.isAssumed(name));
  });
  let best: readonly Given[] | undefined;
  const isBetter = (a: readonly Given[], b: readonly Given[]): boolean => {
    const index = order.findIndex((_, at) => Boolean(a[at]) !== Boolean(b[at]));
    return index >= 0 && Boolean(a[index]);
  };
  const visit = (given: readonly Given[]): void => {
    const volumes = ways[given.length];
    if (!volumes) {
      if (!best || isBetter(given, best)) best = given;
      return;
    }
    for (const volume of volumes) if (!given.includes(volume)) visit([...given, volume]);
    visit([...given, undefined]);
  };
  visit([]);
  return here.open.map((claim) => best?.[order.indexOf(claim)]);
}
