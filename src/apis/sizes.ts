/** Sizes as the API writes them. */
import { type Bytes, parseBytes } from "../scheduling/quantity.ts";
import { amount, Fault, type Fields, field, shown } from "./fields.ts";
import type { Interning } from "./interning.ts";

/** As `parseBytes` has it: nothing longer is remembered. */
const sizeLengthMax = 64;

/**
 * Volumes come in few sizes, each of which is read once. The API writes sizes as text; a bare number, as files have it, may have lost
 * digits on the way here when it is no safe integer.
 */
export function readSize(fields: Fields, name: string, path: string, interning: Interning): Bytes | undefined {
  const value = field(fields, name);
  if (value === undefined) return undefined;
  if (typeof value === "number" && !Number.isSafeInteger(value)) {
    throw new Fault(path, "a number that cannot be read exactly; write it in quotes");
  }
  const written = amount(value);
  const read =
    written === undefined || written.length > sizeLengthMax
      ? undefined
      : interning.value(`size ${written}`, () => parseBytes(written));
  if (read !== undefined) return read;
  throw new Fault(path, written === undefined ? "not a size" : `"${shown(written)}" is no size`);
}
