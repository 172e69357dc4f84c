/**
 * The naive oracle: tries every way to serve a Pod's claims on one node and keeps the best. Obviously right, exponential, and
 * without a line of the core: it reads the small model below, which the same test also feeds to the core as API objects.
 */

export interface ModelVolume {
  readonly name: string;
  readonly size: number;
  readonly class: string;
  /** Access modes as letters, e.g. "ox". */
  readonly modes: string;
  readonly block: boolean;
  readonly tag: string;
  readonly available: boolean;
  /** Claim that it is reserved for. */
  readonly reservedFor?: string;
  /** Promised to another Pod: hard. */
  readonly assumed: boolean;
  /** Planned by another Pod: soft. */
  readonly held: boolean;
}

export interface ModelClaim {
  readonly name: string;
  readonly size: number;
  readonly class: string;
  readonly modes: string;
  readonly block: boolean;
  readonly tag?: string;
}

/** Volumes that the node reaches, and what the dynamic class can still provision there; -1 where nothing is published. */
export interface ModelNode {
  readonly volumes: readonly ModelVolume[];
  readonly claims: readonly ModelClaim[];
  readonly dynamicClasses: readonly string[];
  readonly free: number;
  readonly limit: number;
}

export interface Answer {
  readonly contended: boolean;
  readonly provisions: number;
  readonly surplus: number;
  /** "claim=volume" or "claim=+" in name order. */
  readonly plan: readonly string[];
}

/** The best answer, or undefined where there is none. */
export function oracle(node: ModelNode): Answer | undefined {
  return best(node, false) ?? best(node, true);
}

function best(node: ModelNode, useHeld: boolean): Answer | undefined {
  const claims = [...node.claims].sort((a, b) => (a.name < b.name ? -1 : 1));
  let found: (ModelVolume | undefined)[] | undefined;
  const visit = (chosen: (ModelVolume | undefined)[]): void => {
    const claim = claims[chosen.length];
    if (!claim) {
      if (roomFor(node, claims, chosen) && (!found || isBetter(claims, chosen, found))) found = chosen;
      return;
    }
    for (const volume of node.volumes) {
      if (!chosen.includes(volume) && mayTake(node, claim, volume, useHeld)) visit([...chosen, volume]);
    }
    if (mayProvision(node, claim)) visit([...chosen, undefined]);
  };
  visit([]);
  if (!found) return undefined;
  const served = found;
  return {
    contended: useHeld,
    provisions: served.filter((volume) => volume === undefined).length,
    surplus: surplusOf(claims, served),
    plan: claims.map((claim, index) => `${claim.name}=${served[index]?.name ?? "+"}`),
  };
}

function usableReservations(node: ModelNode, claim: ModelClaim): readonly ModelVolume[] {
  return node.volumes.filter((volume) => volume.reservedFor === claim.name && suits(claim, volume));
}

function mayTake(node: ModelNode, claim: ModelClaim, volume: ModelVolume, useHeld: boolean): boolean {
  const reservations = usableReservations(node, claim);
  if (reservations.length > 0) {
    const first = [...reservations].sort((a, b) => a.size - b.size || (a.name < b.name ? -1 : 1))[0];
    return volume === first;
  }
  if (volume.reservedFor !== undefined || !volume.available || volume.assumed || (volume.held && !useHeld))
    return false;
  return suits(claim, volume) && (claim.tag === undefined || claim.tag === volume.tag);
}

function suits(claim: ModelClaim, volume: ModelVolume): boolean {
  const modesCovered = [...claim.modes].every((mode) => volume.modes.includes(mode));
  return volume.class === claim.class && volume.size >= claim.size && volume.block === claim.block && modesCovered;
}

function mayProvision(node: ModelNode, claim: ModelClaim): boolean {
  if (usableReservations(node, claim).length > 0) return false;
  return node.dynamicClasses.includes(claim.class) && claim.tag === undefined && claim.size <= node.limit;
}

function roomFor(
  node: ModelNode,
  claims: readonly ModelClaim[],
  chosen: readonly (ModelVolume | undefined)[],
): boolean {
  let sum = 0;
  for (const [index, claim] of claims.entries()) if (chosen[index] === undefined) sum += claim.size;
  return sum === 0 || sum <= node.free;
}

function surplusOf(claims: readonly ModelClaim[], chosen: readonly (ModelVolume | undefined)[]): number {
  let sum = 0;
  for (const [index, claim] of claims.entries()) sum += (chosen[index]?.size ?? claim.size) - claim.size;
  return sum;
}

/**
 * Fewest provisioned, then least surplus, then the smallest volumes as a set by (capacity, name), then claim by claim in name
 * order the smallest volume by (capacity, name), provisioning last.
 */
function isBetter(
  claims: readonly ModelClaim[],
  a: readonly (ModelVolume | undefined)[],
  b: readonly (ModelVolume | undefined)[],
): boolean {
  const provisions = (chosen: readonly (ModelVolume | undefined)[]): number => chosen.filter((one) => !one).length;
  if (provisions(a) !== provisions(b)) return provisions(a) < provisions(b);
  if (surplusOf(claims, a) !== surplusOf(claims, b)) return surplusOf(claims, a) < surplusOf(claims, b);
  const order = (x: ModelVolume | undefined, y: ModelVolume | undefined): number => {
    if (!x || !y) return Number(!x) - Number(!y);
    return x.size - y.size || (x.name < y.name ? -1 : x.name > y.name ? 1 : 0);
  };
  const [setA, setB] = [[...a].sort(order), [...b].sort(order)];
  for (const [index, one] of setA.entries()) if (order(one, setB[index]) !== 0) return order(one, setB[index]) < 0;
  for (const [index, one] of a.entries()) if (order(one, b[index]) !== 0) return order(one, b[index]) < 0;
  return false;
}
