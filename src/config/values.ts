/** The forms of single values in the configuration and in flags: how they are read, written, and told. */
import type { Milliseconds } from "../runtime/runtime.ts";
import { nearestName } from "../scheduling/near-name.ts";
import type { Bytes } from "../scheduling/quantity.ts";
import { durationPattern, meantDuration, parseDuration, writeDuration } from "./durations.ts";
import { meantSize, readSize, sizePattern, writeSize } from "./sizes.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Form<T> {
  /** After "is not", and in tables. */
  readonly expected: string;
  /** The same in a table. */
  readonly short: string;
  /** As much of it as JSON Schema can say; `read` refuses the rest. */
  readonly schema: JsonSchema;
  /** Answers `undefined` to what it cannot read. */
  read(value: unknown): T | undefined;
  /** The same value as it stands in a file. */
  write(value: T): string | number | boolean;
  /** What was likely meant by a value that cannot be read, as the end of a sentence. */
  hint?(value: unknown): string | undefined;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const asIs = <T>(value: T): T => value;
const didYouMean = (meant: string | undefined): string | undefined =>
  meant === undefined ? undefined : `did you mean ${JSON.stringify(meant)}?`;

/** A number or a word of YAML's own where a text is wanted. */
function unquoted(value: unknown): string | undefined {
  return typeof value === "number" || typeof value === "boolean" ? `put it in quotes: "${value}"` : undefined;
}

export const text: Form<string> = {
  expected: "a text",
  short: "text",
  schema: { type: "string", minLength: 1 },
  read: textOf,
  write: asIs,
  hint: unquoted,
};

function matching(short: string, more: string, pattern: string): Form<string> {
  const whole = new RegExp(pattern);
  return {
    expected: `a ${short}${more}`,
    short,
    schema: { type: "string", pattern },
    read: (value) => (typeof value === "string" && whole.test(value) ? value : undefined),
    write: asIs,
    hint: unquoted,
  };
}

const subdomain = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";

/** @see kubernetes docs/concepts/overview/working-with-objects/names, "DNS Subdomain Names" */
export const objectName = matching(
  "name of an object",
  ': lower case letters, digits, "-" and "."',
  `^(?=.{1,253}$)${subdomain}$`,
);

export const namespaceName = matching(
  "name of a namespace",
  ': lower case letters, digits and "-"',
  "^(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
);

/** The key of a label or an annotation, or a resource. @see kubernetes labels, "Syntax and character set" */
export const qualifiedName = matching(
  "qualified name",
  ' such as "example.com/disk"',
  `^((?=[^/]{1,253}/)${subdomain}/)?(?=[^/]{1,63}$)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`,
);

export const jsonPointer = matching("JSON pointer", ' such as "/pools/0/free"', "^(/([^~/]|~[01])*)+$");

export const flag: Form<boolean> = {
  expected: "true or false",
  short: "`true` or `false`",
  schema: { type: "boolean" },
  read: (value) => (typeof value === "boolean" ? value : undefined),
  write: asIs,
  hint: (value) => {
    if (typeof value !== "string") return undefined;
    const word = value.toLowerCase();
    if (["true", "yes", "on", "y"].includes(word)) return "write true, without quotes";
    return ["false", "no", "off", "n"].includes(word) ? "write false, without quotes" : undefined;
  },
};

export function whole(least: number, most: number): Form<number> {
  const short = `whole number from ${least} to ${most}`;
  return {
    expected: `a ${short}`,
    short,
    schema: { type: "integer", minimum: least, maximum: most },
    read: (value) =>
      typeof value === "number" && Number.isInteger(value) && value >= least && value <= most ? value : undefined,
    write: asIs,
    hint: (value) => (typeof value === "string" && /^\d+$/.test(value) ? "write it without quotes" : undefined),
  };
}

/** Beyond 24.8 days a timer of Node fires at once; nothing here waits for more than a week. */
export const week: Milliseconds = 168 * 3_600_000;

export function duration(least: Milliseconds, most: Milliseconds): Form<Milliseconds> {
  const read = (value: unknown): Milliseconds | undefined => {
    const ms = typeof value === "string" ? parseDuration(value) : undefined;
    return ms !== undefined && ms >= least && ms <= most ? ms : undefined;
  };
  const range = `from ${writeDuration(least)} to ${writeDuration(most)}`;
  return {
    expected: `a duration such as "90s", "10m" or "1m30s", ${range}`,
    short: `duration ${range}`,
    schema: { type: "string", pattern: durationPattern },
    read,
    write: writeDuration,
    hint: (value) => {
      const meant = meantDuration(value);
      return read(meant) === undefined || meant === value ? undefined : didYouMean(meant);
    },
  };
}

export function size(least: number, most: number): Form<number> {
  const range = `from ${writeSize(BigInt(least))} to ${writeSize(BigInt(most))}`;
  return {
    expected: `a size such as "64Mi", ${range}`,
    short: `size ${range}`,
    schema: { type: ["string", "integer"], pattern: sizePattern, minimum: least, maximum: most },
    read: (value) => {
      const bytes = readSize(value);
      return bytes === undefined || bytes < least || bytes > most ? undefined : Number(bytes);
    },
    write: (bytes) => writeSize(BigInt(bytes)),
    hint: (value) => didYouMean(meantSize(value)),
  };
}

/** Of something that is counted in units of so many bytes each. */
export const unitSize: Form<Bytes> = {
  expected: 'the size of one unit, such as "1Gi"',
  short: "size of one unit",
  schema: { type: ["string", "integer"], pattern: sizePattern, minimum: 1 },
  read: (value) => {
    const bytes = readSize(value);
    return bytes === undefined || bytes < 1n ? undefined : bytes;
  },
  write: writeSize,
  hint: (value) => didYouMean(meantSize(value)),
};

export const address: Form<Address> = {
  expected: 'HOST:PORT, such as "127.0.0.1:10290"',
  short: "HOST:PORT",
  schema: { type: "string", pattern: "^(\\[[0-9a-fA-F:.]+\\]|[^:\\[\\]\\s]*):\\d{1,5}$" },
  read: (value) => {
    const match = typeof value === "string" ? /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]*)):(\d{1,5})$/.exec(value) : null;
    const port = Number(match?.[3]);
    return match && port <= 65_535 ? { host: match[1] ?? (match[2] || "::"), port } : undefined;
  },
  write: ({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`,
};

export function oneOf<const T extends string>(...choices: readonly T[]): Form<T> {
  return {
    expected: choices.map((choice) => JSON.stringify(choice)).join(" or "),
    short: `${choices.length > 1 ? "one of " : ""}${choices.map((choice) => `\`${choice}\``).join(", ")}`,
    schema: choices.length === 1 ? { const: choices[0] } : { enum: choices },
    read: (value) => choices.find((choice) => choice === value),
    write: asIs,
    hint: (value) => didYouMean(typeof value === "string" ? nearestName(value, choices) : undefined),
  };
}

/** Whether only this machine can reach a listener on `host`. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
