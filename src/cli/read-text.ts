/** Reads a file that somebody named, within a bound. */
import { closeSync, openSync, readSync } from "node:fs";
import { Misuse } from "./arguments.ts";

/**
 * @param what      to name in messages: the file, after its flag where it has one
 * @param bytesMax  of a larger file only so much is read
 * @throws Misuse that says why the file cannot be read
 */
export function readText(path: string, what: string, bytesMax: number): string {
  const bytes = readBytes(path, what, bytesMax + 1);
  if (bytes.length > bytesMax) throw new Misuse(`${what}: larger than ${bytesMax >> 10} KiB, and no configuration`);
  const isWide = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (isWide) throw new Misuse(`${what}: written as UTF-16; save it as UTF-8`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Misuse(`${what}: not a text in UTF-8`);
  }
}

function readBytes(path: string, what: string, most: number): Buffer {
  try {
    const file = openSync(path, "r");
    try {
      const bytes = Buffer.alloc(most);
      let length = 0;
      for (let read = -1; read !== 0 && length < most; length += read) {
        read = readSync(file, bytes, length, most - length, null);
      }
      return bytes.subarray(0, length);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    const why = { ENOENT: "no such file", EISDIR: "a folder, and no file", EACCES: "may not be read" }[code];
    throw new Misuse(`${what}: ${why ?? message}`);
  }
}
