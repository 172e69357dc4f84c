/** A stream of bytes as lines: split on the bytes, so that a character cut by a chunk's end stays whole. */

const newline = 10;

/** @throws RangeError when a line is longer than `lineBytesMax`; whatever the stream throws */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>, lineBytesMax: number): AsyncGenerator<string> {
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const last = chunk.subarray(start, end);
      // Most lines lie within one chunk, and need no copy.
      yield parts.length === 0 ? textOf(last) : Buffer.concat([...parts, last]).toString("utf8");
      parts = [];
      length = 0;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    parts.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > lineBytesMax) throw new RangeError(`a line of more than ${lineBytesMax} bytes`);
  }
  // What follows the last newline was cut off: not a line.
}

/** The whole body as one buffer. @throws RangeError when it is longer than `bytesMax`; whatever the stream throws */
export async function bytesOf(
  body: Uint8Array | string | AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<Buffer> {
  if (typeof body === "string") return Buffer.from(body);
  if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    parts.push(chunk);
    length += chunk.length;
    if (length > bytesMax) throw new RangeError(`a body of more than ${bytesMax} bytes`);
  }
  return Buffer.concat(parts);
}

function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("utf8");
}
