/** Volumes that nearly suit a claim: what somebody probably meant, or has only to put right. */
import { whyNot } from "./matching.ts";
import { type ClassName, compareText } from "./names.ts";
import { nearestName } from "./near-name.ts";
import { type AccessModes, accessModeBits, type Claim, type Volume } from "./objects.ts";
import { isProvisioned } from "./provisioning.ts";
import { exactBytes, subtractBytes, zero } from "./quantity.ts";
import { matchesLabels, requirementText } from "./selectors.ts";
import type { ClusterState } from "./state.ts";

/** Classes named of those that have volumes; the likeliest come first. */
const classesMax = 3;
/** Volumes looked at between two pauses. */
const stepVolumes = 2_000;

/** What alone keeps volumes of the claim's class from it. */
interface Miss {
  readonly says: string;
  count: number;
}

/**
 * Sentences on one unbound claim. Looks at every volume of the cluster, and yields now and then.
 *
 * @param isStuck  no node fits: what the claim misses is worth saying
 */
export function* nearMisses(state: ClusterState, claim: Claim, isStuck: boolean): Generator<undefined, string[]> {
  const seen = new Seen(claim);
  let looked = 0;
  for (const name of state.volumes.names()) {
    if (++looked % stepVolumes === 0) yield;
    const volume = state.volumes.get(name);
    if (volume) seen.look(volume);
  }
  return seen.hints(state, isStuck);
}

class Seen {
  readonly #claim: Claim;
  /** Suitable volumes of other classes. */
  readonly #strangers = new Map<ClassName, number>();
  readonly #misses = new Map<string, Miss>();
  #isOfClass = false;
  #free = 0;
  #isLabelled = false;
  /** The largest that is only a little too small, and one that was given back: in either case the first by name. */
  #small: Volume | undefined;
  #released: Volume | undefined;
  #releasedCount = 0;

  constructor(claim: Claim) {
    this.#claim = claim;
  }

  look(volume: Volume): void {
    const claim = this.#claim;
    if (volume.class !== claim.class) {
      if (suits({ ...claim, class: volume.class }, volume)) {
        this.#strangers.set(volume.class, (this.#strangers.get(volume.class) ?? 0) + 1);
      }
      return;
    }
    this.#isOfClass = true;
    const { selector, ...anyLabels } = claim;
    if (selector && suits(anyLabels, volume)) {
      this.#free++;
      if (matchesLabels(selector, volume.labels)) this.#isLabelled = true;
    }
    if (!suits(claim, volume)) this.#lookCloser(volume);
  }

  #lookCloser(volume: Volume): void {
    const claim = this.#claim;
    const { mode, accessModes, attributesClass, capacity } = volume;
    if (suits({ ...claim, mode }, volume)) this.#miss("volumeMode", mode, claim.mode);
    if (suits({ ...claim, accessModes: 0 }, volume)) {
      this.#miss("access modes", modesText(accessModes), modesText(claim.accessModes));
    }
    if (suits({ ...claim, attributesClass }, volume)) {
      this.#miss("volumeAttributesClass", `"${attributesClass}"`, `"${claim.attributesClass}"`);
    }
    const request = claim.request ?? zero;
    const isNear = capacity < request && capacity * 10n >= request * 9n;
    if (isNear && suits({ ...claim, request: capacity }, volume) && isLarger(volume, this.#small)) this.#small = volume;
    const { claimRef: _, ...unclaimed } = volume;
    if (volume.phase === "Released" && suits(claim, { ...unclaimed, phase: "Available" })) {
      this.#releasedCount++;
      if (!this.#released || compareText(volume.name, this.#released.name) < 0) this.#released = volume;
    }
  }

  #miss(property: string, offered: string, asked: string): void {
    const says = `${property}: offered is ${offered}, the claim asks for ${asked}`;
    const known = this.#misses.get(says);
    if (known) known.count++;
    else this.#misses.set(says, { says, count: 1 });
  }

  hints(state: ClusterState, isStuck: boolean): string[] {
    const { key, class: name } = this.#claim;
    const storageClass = state.get("class", name);
    const hints: string[] = [];
    if (isStuck && !this.#isOfClass && storageClass && !isProvisioned(state, storageClass)) {
      hints.push(`no volume of class ${name} exists on any node, whatever its size`);
    }
    if (isStuck && this.#free > 0 && !this.#isLabelled) {
      const asked = this.#claim.selector?.requirements.map(requirementText).join(" and ");
      hints.push(
        `${volumes(this.#free)} of class ${name} would do for claim ${key}, but none carries the labels that it selects: ${asked}`,
      );
    }
    if (isStuck) hints.push(...this.#ofClassHints());
    return [...hints, ...this.#otherClassHints(state, isStuck)];
  }

  #ofClassHints(): string[] {
    const { key, class: name, request } = this.#claim;
    const misses = [...this.#misses.values()].sort((a, b) => b.count - a.count || compareText(a.says, b.says));
    const hints = misses.map(
      ({ says, count }) => `${volumes(count)} of class ${name} would do for claim ${key}, but for the ${says}`,
    );
    if (this.#small) {
      const missing = subtractBytes(request ?? zero, this.#small.capacity);
      hints.push(
        `volume ${this.#small.name} of class ${name} would do for claim ${key}, but is ${exactBytes(missing)} too small`,
      );
    }
    if (this.#released) {
      const more = this.#releasedCount > 1 ? ` (one of ${this.#releasedCount})` : "";
      hints.push(
        `volume ${this.#released.name}${more} of class ${name} would do for claim ${key}, but is Released: remove its claimRef once its old data may go`,
      );
    }
    return hints;
  }

  #otherClassHints(state: ClusterState, isStuck: boolean): string[] {
    const { key, class: name } = this.#claim;
    const meant = isStuck && !this.#isOfClass ? nearestName(name, [...this.#strangers.keys()].sort()) : undefined;
    if (meant !== undefined && name !== "" && !state.provisionedBy.has(state.get("class", name)?.provisioner ?? "")) {
      const count = this.#strangers.get(meant as ClassName) ?? 0;
      return [`class "${name}" of claim ${key} has no volumes; "${meant}" has ${count} that would fit`];
    }
    const named = [...this.#strangers].filter(([other]) => isStuck || (other as string) === "");
    return named
      .sort(([a], [b]) => compareText(a, b))
      .slice(0, classesMax)
      .map(
        ([other, count]) =>
          `${volumes(count)} with enough space ${count === 1 ? "has" : "have"} class "${other}" while claim ${key} asks for "${name}"`,
      );
  }
}

function suits(claim: Claim, volume: Volume): boolean {
  return whyNot(claim, volume, undefined) === undefined;
}

function isLarger(one: Volume, other: Volume | undefined): boolean {
  if (!other) return true;
  return one.capacity === other.capacity ? compareText(one.name, other.name) < 0 : one.capacity > other.capacity;
}

function volumes(count: number): string {
  return count === 1 ? "1 free volume" : `${count} free volumes`;
}

/** "ReadWriteOnce+ReadWriteMany", in the API's names. */
export function modesText(accessModes: AccessModes): string {
  const names = Object.entries(accessModeBits).flatMap(([name, bit]) => ((accessModes & bit) === 0 ? [] : [name]));
  return names.length === 0 ? "any access mode" : names.join("+");
}
