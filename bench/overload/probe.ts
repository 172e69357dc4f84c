/** Who wants to know how Berth is, and who binds: one call after the other, each timed, from a process that does nothing else. */
import { request } from "node:http";

export interface Reply {
  readonly status: number;
  readonly text: string;
}

/** Over a connection of its own, as kubelet asks. */
export function call(port: number, method: "GET" | "POST", path: string, body = ""): Promise<Reply> {
  const headers = body === "" ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port, method, path, headers, agent: false }, (reply) => {
      const chunks: Buffer[] = [];
      reply.on("data", (chunk: Buffer) => chunks.push(chunk));
      reply.on("end", () => resolve({ status: reply.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
      reply.on("error", reject);
    })
      .on("error", reject)
      .end(body);
  });
}

export interface Timed {
  /** ms, ascending. */
  readonly times: readonly number[];
  /** What was not as it should be. */
  readonly failures: readonly string[];
}

/** No phase takes longer: where each call waits for seconds, a few of them tell as much. */
const phaseMaxMs = 60_000;

/** Asks until `isOver`, at a pace that is no load of its own. `ask` tells what was wrong, or nothing. */
export async function timed(
  ask: (nth: number) => Promise<string | undefined>,
  paceMs: number,
  isOver: (nth: number) => boolean,
): Promise<Timed> {
  const times: number[] = [];
  const failures: string[] = [];
  const since = performance.now();
  for (let nth = 0; !isOver(nth) && performance.now() - since < phaseMaxMs; nth++) {
    const begun = performance.now();
    const failure = await ask(nth).catch((error: unknown) => String(error));
    times.push(performance.now() - begun);
    if (failure !== undefined) failures.push(failure);
    await new Promise((resolve) => setTimeout(resolve, paceMs));
  }
  return { times: times.sort((a, b) => a - b), failures };
}
