/** The address behind which the Berths stand: connections stay where they are until they break or are told to part. */
import type { Exchange, HttpReply } from "../../src/runtime/runtime.ts";
import type { Random } from "../oracle/random.ts";
import type { Replica } from "./replica.ts";

const readyz = { method: "GET", path: "/readyz", headers: {} };

export class Service {
  readonly #replicas: readonly Replica[];
  readonly #dice: Random;
  #connected: Replica | undefined;

  constructor(replicas: readonly Replica[], dice: Random) {
    this.#replicas = replicas;
    this.#dice = dice;
  }

  readonly exchange: Exchange = async (request, signal) => {
    const replica = await this.#choose();
    if (!replica) throw new Error("ECONNREFUSED");
    let reply: HttpReply;
    try {
      reply = await replica.serve(request, signal);
    } catch (fault) {
      this.#connected = undefined;
      throw fault;
    }
    if (reply.headers["connection"] === "close") this.#connected = undefined;
    return reply;
  };

  async #choose(): Promise<Replica | undefined> {
    const [only, other] = this.#replicas;
    if (!other) return only;
    if (this.#connected?.isUp && !this.#dice.once(20)) return this.#connected;
    const ready: Replica[] = [];
    for (const replica of this.#replicas) if (await isReady(replica)) ready.push(replica);
    // Endpoints lag: now and then a call reaches one that is no longer, or not yet, to be asked.
    const from = ready.length === 0 || this.#dice.once(15) ? this.#replicas : ready;
    this.#connected = this.#dice.pick(from);
    return this.#connected;
  }
}

/** As its readiness probe finds it. */
export async function isReady(replica: Replica): Promise<boolean> {
  const { signal } = new AbortController();
  const reply = replica.isUp && (await replica.serve(readyz, signal).catch(() => undefined));
  return reply !== false && reply?.status === 200;
}
