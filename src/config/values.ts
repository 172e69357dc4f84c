/** How single values are written in the configuration and in flags. Each reader answers `undefined` to what it cannot read. */
import type { Milliseconds } from "../runtime/runtime.ts";
import { parseBytes } from "../scheduling/quantity.ts";

/** One form of value: how it is read, and the words for an error. */
export interface Form<T> {
  readonly expected: string;
  read(value: unknown): T | undefined;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

export const text: Form<string> = {
  expected: "a text",
  read: (value) => (typeof value === "string" && value !== "" ? value : undefined),
};

export const flag: Form<boolean> = {
  expected: "true or false",
  read: (value) => (typeof value === "boolean" ? value : undefined),
};

export const count: Form<number> = {
  expected: "a whole number of at least 1",
  read: (value) => (typeof value === "number" && Number.isSafeInteger(value) && value >= 1 ? value : undefined),
};

export function within(least: number, most: number): Form<number> {
  return {
    expected: `a whole number from ${least} to ${most}`,
    read: (value) =>
      typeof value === "number" && Number.isInteger(value) && value >= least && value <= most ? value : undefined,
  };
}

/** Beyond 24.8 days a timer of Node fires at once; nothing here waits for a week. */
const durationMaxMs: Milliseconds = 168 * 3_600_000;

export const duration: Form<Milliseconds> = {
  expected: 'a duration such as "90s", "10m" or "1m30s", of 168h at most',
  read: (value) => {
    const ms = typeof value === "string" ? parseDuration(value) : undefined;
    return ms !== undefined && ms >= 1 && ms <= durationMaxMs ? ms : undefined;
  },
};

export const bytes: Form<number> = {
  expected: 'a size such as "64Mi"',
  read: (value) => {
    const parsed = typeof value === "string" || typeof value === "number" ? parseBytes(String(value)) : undefined;
    return parsed === undefined || parsed < 1n || parsed > 512n << 20n ? undefined : Number(parsed);
  },
};

export const address: Form<Address> = {
  expected: 'HOST:PORT, such as "127.0.0.1:10290"',
  read: (value) => {
    const match = typeof value === "string" ? /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]*)):(\d{1,5})$/.exec(value) : null;
    const port = Number(match?.[3]);
    return match && port <= 65_535 ? { host: match[1] ?? (match[2] || "::"), port } : undefined;
  },
};

export function oneOf<const T extends string>(...choices: readonly T[]): Form<T> {
  return {
    expected: choices.map((choice) => JSON.stringify(choice)).join(" or "),
    read: (value) => choices.find((choice) => choice === value),
  };
}

const unitsMs: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1e3, m: 60e3, h: 3_600e3 };

/**
 * Reads a duration as Go prints and reads it; one without a sign.
 *
 * @see Go time.ParseDuration
 */
export function parseDuration(written: string): Milliseconds | undefined {
  if (!/^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/.test(written)) return undefined;
  let total = 0;
  for (const [, amount, unit = ""] of written.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)) {
    total += Number(amount) * (unitsMs[unit] ?? 0);
  }
  return total;
}

/** Whether only this machine can reach a listener on `host`. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
