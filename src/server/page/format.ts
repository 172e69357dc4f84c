/** Numbers as people read them at a glance. */
import { atLeastZero, type Bytes, formatBytes } from "../../scheduling/quantity.ts";
import { type Html, html } from "./html.ts";

const units = [
  { ms: 86_400_000, name: "d" },
  { ms: 3_600_000, name: "h" },
  { ms: 60_000, name: "min" },
  { ms: 1_000, name: "s" },
];

/** "4 s", "12 min", "3 h": whole units, the largest that there is one of. */
export function ageText(ms: number): string {
  const unit = units.find((one) => ms >= one.ms) ?? { ms: 1_000, name: "s" };
  return `${Math.max(0, Math.floor(ms / unit.ms))} ${unit.name}`;
}

/** No less than nothing: a pool that was published below what is promised of it has nothing free. */
export function sizeText(bytes: Bytes): string {
  return formatBytes(atLeastZero(bytes));
}

/** "a, b, c and 7 more". */
export function listText(names: readonly string[], count = names.length, shownMax = 3): string {
  const shown = names.slice(0, shownMax);
  const more = count - shown.length;
  return `${shown.join(", ")}${more > 0 ? ` and ${more.toLocaleString("en-US")} more` : ""}`;
}

/** Longer names are cut in their middle: their ends tell them apart. No label of a DNS name is longer. */
export const nameMax = 63;

export function nameText(name: string): Html {
  if (name.length <= nameMax) return html`<bdi>${name}</bdi>`;
  return html`<bdi title="${name}">${name.slice(0, 36)}…${name.slice(-20)}</bdi>`;
}

/** Texts that others wrote may be of any length. */
export function clipped(text: string, charactersMax = 300): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax)}…`;
}
