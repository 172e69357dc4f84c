/** Request bodies, gathered up to a size each and together: callers that send without end cannot take all memory. */
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";

/** Bodies that are on their way or being answered may hold so many times the largest one together. */
const bodiesMax = 4;
/** Smaller bodies are never turned away: binds go on while somebody sends large ones. */
const smallBytes = 64 << 10;

/** A body that is turned away. */
export class Refused extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

export class Bodies {
  readonly #bytesMax: number;
  readonly #held = new Map<IncomingMessage, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** @throws Refused */
  async read(request: IncomingMessage, payload: Readable): Promise<Buffer> {
    try {
      return await this.#read(request, payload);
    } catch (fault) {
      throw fault instanceof Refused ? fault : new Refused(400, "the body broke off");
    }
  }

  async #read(request: IncomingMessage, payload: Readable): Promise<Buffer> {
    if (Number(request.headers["content-length"] ?? 0) > this.#bytesMax) throw this.#tooLarge();
    const parts: Buffer[] = [];
    let length = 0;
    // What is left unread must not end the connection before the reply is out.
    for await (const part of payload.iterator({ destroyOnReturn: false })) {
      if (!(part instanceof Buffer)) throw new Error("a body of no bytes");
      length += part.length;
      if (length > this.#bytesMax) throw this.#tooLarge();
      this.#hold(request, part.length);
      const isSmall = length <= Math.min(smallBytes, this.#bytesMax / 2);
      if (!isSmall && this.#bytes > bodiesMax * this.#bytesMax)
        throw new Refused(503, "too many large bodies at once; ask again");
      parts.push(part);
    }
    return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts, length);
  }

  /** The request was answered, or its caller has gone. */
  release(request: IncomingMessage): void {
    this.#bytes -= this.#held.get(request) ?? 0;
    this.#held.delete(request);
  }

  #hold(request: IncomingMessage, bytes: number): void {
    this.#bytes += bytes;
    this.#held.set(request, (this.#held.get(request) ?? 0) + bytes);
  }

  #tooLarge(): Refused {
    return new Refused(413, `the body is larger than ${this.#bytesMax} bytes`);
  }
}
