/** Who has a volume, or will: for explanations. */
import type { ClaimKey, PodUid, VolumeName } from "./names.ts";
import type { Claim, Pod, Volume } from "./objects.ts";
import type { ClusterState } from "./state.ts";

export type Holder =
  /** Its claimRef names the claim. `isGone`: no claim of that name and uid is there, as of a Released volume. */
  | { readonly kind: "claim"; readonly claim: ClaimKey; readonly isGone: boolean }
  /** A pending claim asks for it by name. */
  | { readonly kind: "named"; readonly claim: ClaimKey }
  /** Promised for good: bind is under way. Pods by name, or by uid where they are not among the pending ones. */
  | { readonly kind: "promised"; readonly claim: ClaimKey; readonly pods: readonly string[] }
  /** Planned by filter: others avoid it where they can. */
  | { readonly kind: "held"; readonly pods: readonly string[] };

/** Pods named of a holder. */
const podsMax = 3;

/** As of one moment: it must not outlive a step. */
export class Holders {
  readonly #state: ClusterState;
  readonly #pod: Pod;
  readonly #holding = new Map<VolumeName, PodUid[]>();
  #names: Map<PodUid, string> | undefined;

  /** @param pod  whose own holds count for nothing */
  constructor(state: ClusterState, pod: Pod) {
    this.#state = state;
    this.#pod = pod;
    for (const { pod: holder, volumes } of state.reservations.holds.dump()) {
      if (holder === pod.uid) continue;
      for (const volume of volumes) this.#holding.set(volume, [...(this.#holding.get(volume) ?? []), holder]);
    }
  }

  /** Undefined where nobody has it, or the claim itself. */
  of(volume: Volume, claim: Claim): Holder | undefined {
    const { claimRef, name } = volume;
    if (claimRef && claimRef.claim === claim.key && (claimRef.uid === undefined || claimRef.uid === claim.uid)) {
      return undefined;
    }
    if (claimRef) {
      const there = this.#state.get("claim", claimRef.claim);
      const isGone = !there || (claimRef.uid !== undefined && there.uid !== claimRef.uid);
      return { kind: "claim", claim: claimRef.claim, isGone };
    }
    const assumed = this.#state.reservations.assumedFor(name);
    if (assumed && assumed.claimUid !== claim.uid) {
      return { kind: "promised", claim: assumed.claim, pods: this.#podNames([...assumed.pods]) };
    }
    const named = this.#state.volumes.keptFor(name);
    if (named !== undefined && named !== claim.key) return { kind: "named", claim: named };
    const holding = this.#holding.get(name);
    return holding && { kind: "held", pods: this.#podNames(holding) };
  }

  #podNames(uids: readonly PodUid[]): string[] {
    this.#names ??= new Map(
      [...this.#state.keys("pod")].flatMap((key) => {
        const pod = this.#state.get("pod", key);
        return pod && pod.uid !== this.#pod.uid ? [[pod.uid, pod.key] as const] : [];
      }),
    );
    return uids.slice(0, podsMax).map((uid) => this.#names?.get(uid) ?? uid);
  }
}

/** "bound to claim d/y", as a half sentence. */
export function holderText(holder: Holder): string {
  switch (holder.kind) {
    case "claim":
      return holder.isGone ? `belongs to claim ${holder.claim}, which is gone` : `belongs to claim ${holder.claim}`;
    case "named":
      return `asked for by name, by claim ${holder.claim}`;
    case "promised":
      return `promised to claim ${holder.claim} of Pod ${holder.pods.join(", ")}`;
    case "held":
      return `held for Pod ${holder.pods.join(", ")}`;
  }
}
