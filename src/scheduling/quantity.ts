/** Storage amounts: "100Gi" in the API, whole bytes in every comparison and sum. */

declare const unit: unique symbol;

/** A whole number of bytes. A bigint: sizes beyond 2^53 occur. Made only in this file, so a bare bigint never passes for one. */
export type Bytes = bigint & { readonly [unit]: "bytes" };

export const zero = 0n as Bytes;
export const one = 1n as Bytes;

/** An exponent has two digits at most: so every size is a finite double, by which volumes are sorted and compared. */
const quantity = /^\+?(\d*)\.?(\d*)(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?$/;
const powersOfTen: Record<string, number> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const powersOfTwo: Record<string, number> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
/** Longer texts are no sizes: the largest disk of any cluster is written in under 20 digits. */
const textLengthMax = 64;

/**
 * Reads a Kubernetes quantity as bytes, rounding a fraction of a byte up as `Quantity.Value()` does.
 *
 * @param text  e.g. "100Gi", "1.5Ti", "2e9", "500M"
 * @returns     bytes; `undefined` when the text is no quantity or is negative
 * @see apimachinery pkg/api/resource/quantity.go for the grammar
 */
export function parseBytes(text: string): Bytes | undefined {
  const read = readQuantity(text);
  if (!read) return undefined;
  const { digits, ten } = read;
  return (ten >= 0 ? digits * 10n ** BigInt(ten) : ceilDiv(digits, 10n ** BigInt(-ten))) as Bytes;
}

/** So many units, each of so many bytes; a fraction of a byte is rounded down, for this is what somebody has to give. */
export function parseUnits(text: string, each: Bytes): Bytes | undefined {
  const read = readQuantity(text);
  if (!read) return undefined;
  const { digits, ten } = read;
  return (ten >= 0 ? digits * each * 10n ** BigInt(ten) : (digits * each) / 10n ** BigInt(-ten)) as Bytes;
}

/** As thousandths, a fraction of one rounded up, as `Quantity.MilliValue()` does: for CPU, and whatever else is not bytes. */
export function parseThousandths(text: string): bigint | undefined {
  const read = readQuantity(text);
  if (!read) return undefined;
  const ten = read.ten + 3;
  return ten >= 0 ? read.digits * 10n ** BigInt(ten) : ceilDiv(read.digits, 10n ** BigInt(-ten));
}

/** `digits` times ten to the power of `ten`. */
function readQuantity(text: string): { readonly digits: bigint; readonly ten: number } | undefined {
  if (text.length > textLengthMax) return undefined;
  const match = quantity.exec(text);
  if (!match) return undefined;
  const [, whole = "", fraction = "", suffix = "", exponent = ""] = match;
  if (whole + fraction === "") return undefined;
  const ten = (powersOfTen[suffix] ?? 0) + Number(exponent) - fraction.length;
  return { digits: BigInt(whole + fraction) << BigInt(powersOfTwo[suffix] ?? 0), ten };
}

function ceilDiv(a: bigint, b: bigint): bigint {
  return (a + b - 1n) / b;
}

export function addBytes(a: Bytes, b: Bytes): Bytes {
  return (a + b) as Bytes;
}

/** `a - b`; may be negative where a pool was republished below what is promised on it. */
export function subtractBytes(a: Bytes, b: Bytes): Bytes {
  return (a - b) as Bytes;
}

/** Nothing where it is below zero. */
export function atLeastZero(bytes: Bytes): Bytes {
  return bytes < zero ? zero : bytes;
}

export function smallerBytes(a: Bytes, b: Bytes): Bytes {
  return a < b ? a : b;
}

export function largerBytes(a: Bytes, b: Bytes): Bytes {
  return a > b ? a : b;
}

/** For sorting, the smaller first. */
export function compareBytes(a: Bytes, b: Bytes): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

const suffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] as const;

/** The shortest binary form people read: "10Gi", "1.5Gi", "1234567". Exact where it has no fraction, else to one digit. */
export function formatBytes(bytes: Bytes): string {
  if (bytes < 0n) return `-${formatBytes(-bytes as Bytes)}`;
  let step = 0;
  while (step + 1 < suffixes.length && bytes >> BigInt(10 * (step + 1)) > 0n) step++;
  const shift = BigInt(10 * step);
  const tenths = ((bytes * 10n) >> shift) % 10n;
  const whole = bytes >> shift;
  return `${whole}${tenths === 0n ? "" : `.${tenths}`}${suffixes[step]}`;
}

/** The short form where it is exact, else all digits: a volume of a rounded size may be a few bytes too small. */
export function exactBytes(bytes: Bytes): string {
  const short = formatBytes(bytes);
  return parseBytes(short) === bytes ? short : String(bytes);
}
