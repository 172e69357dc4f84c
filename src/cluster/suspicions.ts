/**
 * Objects that a live read found and the cache lacks. For a moment that is a race between two watches; where it lasts, the
 * watch of that kind has lost something and everything is to be listed anew (FR-052).
 */
import type { Milliseconds } from "../runtime/runtime.ts";
import type { Kind, ObjectKey } from "../scheduling/objects.ts";

const lastsMs: Milliseconds = 15_000;
const suspicionsMax = 1_000;

export class Suspicions {
  readonly #since = new Map<string, Milliseconds>();

  /** Whether it has lasted too long; it is forgotten then, for the list will tell. */
  missed(kind: Kind, key: ObjectKey, now: Milliseconds): boolean {
    const name = `${kind} ${key}`;
    const since = this.#since.get(name);
    if (since === undefined) {
      if (this.#since.size >= suspicionsMax) this.#since.clear();
      this.#since.set(name, now);
      return false;
    }
    if (now - since < lastsMs) return false;
    this.#since.delete(name);
    return true;
  }

  seen(kind: Kind, key: ObjectKey): void {
    if (this.#since.size > 0) this.#since.delete(`${kind} ${key}`);
  }
}
