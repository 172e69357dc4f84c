/** What things are called on both sides. */

export const namespace = "bench";
export const storageClass = "local";
/** Binds before the load and under it. */
export const phases = ["quiet", "busy"] as const;
export type Phase = (typeof phases)[number];

export function nodeNamed(at: number): string {
  return `node-${String(at).padStart(5, "0")}`;
}

export function diskOf(node: string): string {
  return `${node}-disk`;
}

export function podNamed(phase: Phase, at: number): string {
  return `${phase}-${at}`;
}

export function claimOf(pod: string): string {
  return `${pod}-data`;
}
