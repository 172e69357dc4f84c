/** Sizes as Kubernetes writes quantities, without the thousandths. */
import { parseBytes } from "../scheduling/quantity.ts";

/** Of a whole text. "64m" would be a quantity too: of 64 thousandths of a byte. */
export const sizePattern = "^(\\d+(\\.\\d*)?|\\.\\d+)([kMGTPE]|[KMGTPE]i|[eE]\\d{1,2})?$";

/** Bytes, of a text or a number. */
export function readSize(value: unknown) {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  return new RegExp(sizePattern).test(String(value)) ? parseBytes(String(value)) : undefined;
}

const suffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] as const;

/** In the largest unit that leaves no fraction: "64Mi". */
export function writeSize(bytes: bigint): string {
  let [amount, power] = [bytes, 0];
  while (amount > 0n && amount % 1024n === 0n && power < suffixes.length - 1)
    [amount, power] = [amount / 1024n, power + 1];
  return `${amount}${suffixes[power]}`;
}

/** What somebody meant who wrote "64 MB", "64mb" or "64m". */
export function meantSize(value: unknown): string | undefined {
  const match = typeof value === "string" ? /^\s*(\d{1,6})\s*([kmgt])i?b?\s*$/i.exec(value) : null;
  return match ? `${match[1]}${match[2]?.toUpperCase()}i` : undefined;
}
