/** Request bodies, gathered up to a size each and together: callers that send without end cannot take all memory. */
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import type { Departure } from "../runtime/runtime.ts";

/** Bodies of calls that have a place are never turned away where they are smaller: binds go on while somebody sends large ones. */
const smallBytes = 64 << 10;

/** A body that is turned away. */
export class Refused extends Error {
  readonly statusCode: number;
  readonly departure: Departure;

  constructor(statusCode: number, departure: Departure, message: string) {
    super(message);
    this.statusCode = statusCode;
    this.departure = departure;
  }
}

export interface BodyLimits {
  readonly bodyBytesMax: number;
  /** Of all bodies that are on their way or being answered; one that is alone may be larger. */
  readonly bodiesBytesMax: number;
}

type Sender = Pick<IncomingMessage, "headers">;

/** What has come is counted, not what was announced: to announce much costs nothing, and would shut others out. */
export class Bodies {
  readonly #limits: BodyLimits;
  readonly #held = new Map<Sender, number>();
  #bytes = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /**
   * @param hasPlace  whether the number of such requests is bounded
   * @throws Refused
   */
  async read(request: Sender, payload: Readable, hasPlace: boolean): Promise<Buffer> {
    try {
      return await this.#read(request, payload, hasPlace);
    } catch (fault) {
      throw fault instanceof Refused ? fault : new Refused(400, "callerGone", "the body broke off");
    }
  }

  async #read(request: Sender, payload: Readable, hasPlace: boolean): Promise<Buffer> {
    this.#check(Number(request.headers["content-length"] ?? 0), 0, hasPlace);
    const parts: Buffer[] = [];
    let length = 0;
    // What is left unread must not end the connection before the reply is out.
    for await (const part of payload.iterator({ destroyOnReturn: false })) {
      if (!(part instanceof Buffer)) throw new Error("a body of no bytes");
      this.#check(length + part.length, length, hasPlace);
      length += part.length;
      this.#bytes += part.length;
      this.#held.set(request, length);
      parts.push(part);
    }
    return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts, length);
  }

  /** The request was answered, or its caller has gone. */
  release(request: Sender): void {
    this.#bytes -= this.#held.get(request) ?? 0;
    this.#held.delete(request);
  }

  /** Whether a body of which `held` bytes are here may become so long. */
  #check(length: number, held: number, hasPlace: boolean): void {
    const { bodyBytesMax, bodiesBytesMax } = this.#limits;
    if (length > bodyBytesMax) throw new Refused(413, "tooLarge", `the body is larger than ${bodyBytesMax} bytes`);
    const others = this.#bytes - held;
    if ((hasPlace && length <= smallBytes) || others === 0 || others + length <= bodiesBytesMax) return;
    throw new Refused(503, "tooManyBytes", "too many bytes of calls in progress; ask again");
  }
}
