/**
 * More filter calls than can be served, as a process of its own: each connection asks again as soon as it has an answer, or a moment
 * after it was refused.
 *
 *     node load.ts PORT CONNECTIONS NODES
 *
 * Prints a line when all connections stand; after a line of input what came of the calls since then, as JSON, and ends.
 */
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { claimOf, namespace, nodeNamed } from "./names.ts";

export interface Answers {
  /** Calls by their status; "error" is a 200 with `Error`. */
  readonly counts: Readonly<Record<string, number>>;
  /** How long those took that were served, ms, ascending. */
  readonly servedMs: readonly number[];
  /** The same of those that were refused. */
  readonly refusedMs: readonly number[];
}

/** kube-scheduler waits a second and more before it tries a Pod again. */
const pauseMs = 50;

const [port = 0, connections = 0, nodes = 0] = process.argv.slice(2).map(Number);
const names = Array.from({ length: nodes }, (_, at) => nodeNamed(at));
const counts: Record<string, number> = {};
const servedMs: number[] = [];
const refusedMs: number[] = [];

/** Of a Pod of its own: what one holds is nothing to another. */
function requestOf(at: number): Buffer {
  const name = `asks-${at}`;
  const claimName = claimOf("asks");
  const pod = {
    metadata: { name, namespace, uid: `uid-${name}` },
    spec: { volumes: [{ name: "data", persistentVolumeClaim: { claimName } }], containers: [] },
  };
  const body = JSON.stringify({ Pod: pod, Nodes: null, NodeNames: names });
  const head = `POST /v1/filter HTTP/1.1\r\nhost: berth\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}`;
  return Buffer.from(`${head}\r\n\r\n${body}`);
}

function ask(socket: Socket, request: Buffer): void {
  const begun = performance.now();
  let isRead = false;
  let left = 0;
  let status = "";
  let tail = "";
  const answered = (): void => {
    socket.off("data", take);
    const tookMs = performance.now() - begun;
    const outcome = status === "200" && !tail.endsWith('"Error":""}') ? "error" : status;
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    (outcome === "200" ? servedMs : refusedMs).push(tookMs);
    if (outcome === "200") ask(socket, request);
    else setTimeout(() => ask(socket, request), pauseMs * (0.5 + Math.random()));
  };
  const take = (chunk: Buffer): void => {
    if (!isRead) {
      const text = chunk.toString("latin1");
      status = text.slice(9, 12);
      left = Number(/content-length: (\d+)/i.exec(text)?.[1]) + text.indexOf("\r\n\r\n") + 4;
      isRead = true;
    }
    left -= chunk.length;
    tail = (tail + chunk.subarray(-16).toString("latin1")).slice(-16);
    if (left <= 0) answered();
  };
  socket.on("data", take);
  socket.write(request);
}

const asking = Array.from({ length: connections }, (_, at) => ({
  socket: connect(port, "127.0.0.1"),
  request: requestOf(at),
}));
const standing = ({ socket }: { socket: Socket }): Promise<void> =>
  new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
await Promise.all(asking.map(standing));
for (const { socket } of asking) socket.on("error", () => process.exit(1)).on("close", () => process.exit(1));
for (const { socket, request } of asking) ask(socket, request);
process.stdout.write("asking\n");

createInterface({ input: process.stdin })
  .once("line", () => {
    const sorted = (times: number[]): number[] => times.toSorted((a, b) => a - b);
    const answers: Answers = { counts, servedMs: sorted(servedMs), refusedMs: sorted(refusedMs) };
    process.stdout.write(`${JSON.stringify(answers)}\n`, () => process.exit());
  })
  .once("close", () => process.exit());
