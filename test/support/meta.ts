/** What a test says of itself to the reporter at the end of a run. */
import type { ScenarioKind } from "../upstream/kinds.ts";

declare module "vitest" {
  interface TaskMeta {
    /** One of VB §8's 200. */
    readonly upstream?: { readonly number: number; readonly kind: ScenarioKind };
    /** One scenario file on one stage. */
    readonly scenario?: { readonly name: string; readonly says: string; readonly stage: "core" | "sandbox" | "real" };
  }
}
