/** Durations as Go writes them. */
import type { Milliseconds } from "../runtime/runtime.ts";

const unitsMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1e3,
  m: 60e3,
  h: 3_600e3,
};
const units = Object.keys(unitsMs).join("|");

/** Of a whole text. Go takes both letters that look like a mu. */
export const durationPattern = `^((\\d+(\\.\\d*)?|\\.\\d+)(${units}))+$`;

/**
 * Reads a duration as Go prints and reads it; one without a sign.
 *
 * @see Go time.ParseDuration
 */
export function parseDuration(written: string): Milliseconds | undefined {
  if (!new RegExp(durationPattern).test(written)) return undefined;
  let total = 0;
  for (const [, amount, unit = ""] of written.matchAll(new RegExp(`([\\d.]+)(${units})`, "g"))) {
    total += Number(amount) * (unitsMs[unit] ?? 0);
  }
  return total;
}

const written = [["h", 3_600_000] as const, ["m", 60_000] as const, ["s", 1_000] as const, ["ms", 1] as const];

/** In as few units as there are: "2m30s". */
export function writeDuration(ms: Milliseconds): string {
  let text = "";
  let rest = ms;
  for (const [unit, size] of written) {
    const amount = unit === "ms" ? rest : Math.floor(rest / size);
    if (amount > 0) text += `${amount}${unit}`;
    rest -= amount * size;
  }
  return text;
}

const words: readonly (readonly [RegExp, string, number])[] = [
  [/^(ms|msecs?|millis|milliseconds?)$/, "ms", 1],
  [/^(s|secs?|seconds?)$/, "s", 1],
  [/^(m|mins?|minutes?)$/, "m", 1],
  [/^(h|hrs?|hours?)$/, "h", 1],
  [/^(d|days?)$/, "h", 24],
];

/** What somebody meant who wrote "1d", "10 min", "PT5M" or a bare number. */
export function meantDuration(value: unknown): string | undefined {
  if (typeof value === "number" && value >= 0) return `${value}s`;
  if (typeof value !== "string" || value.length > 20) return undefined;
  const parts = [
    ...value
      .toLowerCase()
      .replace(/^pt?(?=\d)/, "")
      .replaceAll(/\s/g, "")
      .matchAll(/(\d+)([a-z]*)/g),
  ];
  const meant = parts.map(([, amount, word = ""]) => {
    const [, unit, times] = words.find(([pattern]) => pattern.test(word || "s")) ?? [];
    return unit === undefined || times === undefined ? undefined : `${Number(amount) * times}${unit}`;
  });
  return meant.length === 0 || meant.includes(undefined) ? undefined : meant.join("");
}
