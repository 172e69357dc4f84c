/** What is done to the listener below HTTP's meaning: torn, slow, half-closed, idle and hurried connections. */
import { fork } from "node:child_process";
import { connect, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { type Listener, listen } from "../../src/http/listener.ts";
import { nodeName } from "./cluster.ts";
import { type FuzzWorld, limits } from "./world.ts";

export interface Attack {
  readonly name: string;
  /** What is wrong; undefined where all held. */
  readonly run: (target: Target) => Promise<string | undefined>;
}

export interface Target {
  readonly world: FuzzWorld;
  readonly port: number;
}

const post = (path: string, body: string, more = ""): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${more}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const bind = JSON.stringify({ PodName: "p", PodNamespace: "d", PodUID: "u", Node: "n001" });

/** Each is sent as it stands, and answered with 4xx, or with nothing and the end of the connection. */
const broken: Readonly<Record<string, string | Buffer>> = {
  "no HTTP at all": "hello\r\n\r\n",
  "bytes of TLS": Buffer.from([0x16, 3, 1, 0, 0xa5, 1, 0, 0, 0xa1, 3, 3, ...Array.from({ length: 160 }, () => 7)]),
  "the preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "a version that is none": "POST /v1/bind HTTP/9.9\r\nhost: x\r\n\r\n",
  "a method that is none": "BIND /v1/bind HTTP/1.1\r\nhost: x\r\n\r\n",
  "a tunnel": "CONNECT 10.0.0.1:443 HTTP/1.1\r\nhost: x\r\n\r\n",
  "no host": "POST /v1/bind HTTP/1.1\r\ncontent-length: 0\r\n\r\n",
  "a head without end": `POST /v1/bind HTTP/1.1\r\nhost: x\r\n${"x-a: b\r\n".repeat(5_000)}`,
  "a path without end": `GET /${"a".repeat(100_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
  "a path that cannot be decoded": "GET /%zz/%ff HTTP/1.1\r\nhost: x\r\n\r\n",
  "a length that is none": "POST /v1/bind HTTP/1.1\r\nhost: x\r\ncontent-length: many\r\n\r\n",
  "a negative length": "POST /v1/bind HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
  "two lengths": `POST /v1/bind HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ncontent-length: 200\r\n\r\n{}`,
  "a length and chunks": `POST /v1/bind HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  "a chunk of no size": "POST /v1/bind HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
  "a chunk beyond all sizes":
    "POST /v1/bind HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
  "an encoding that is none": "POST /v1/bind HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\n\r\n{}",
  "an expectation that nobody meets": post("/v1/bind", bind, "expect: a-miracle\r\n"),
  "a header with a zero byte": "GET /livez HTTP/1.1\r\nhost: x\r\nx: a\u0000b\r\n\r\n",
  "a header that is folded": "GET /livez HTTP/1.1\r\nhost: x\r\nx: a\r\n b\r\n\r\n",
  "a body that is larger than announced": `${post("/v1/bind", "{}")}{"PodName":"p"}`,
  "a body that says that it is too large": `POST /v1/filter HTTP/1.1\r\nhost: x\r\ncontent-length: ${limits.bodyBytesMax + 1}\r\n\r\n`,
};

export const attacks: readonly Attack[] = [
  ...Object.entries(broken).map(([name, bytes]): Attack => ({ name, run: ({ port }) => sendBroken(port, bytes) })),
  { name: "500 requests at once on one connection", run: (target) => pipelined(target, 500) },
  { name: "a caller that has nothing more to say and still listens", run: halfClosed },
  {
    name: "callers that go in the middle of a body",
    run: ({ port }) => leaving(port, post("/v1/bind", bind).slice(0, -5)),
  },
  { name: "callers that go before their answer", run: ({ port }) => leaving(port, post("/v1/bind", bind)) },
  { name: "a caller that asks on and never reads", run: deaf },
];

/** Runs one attack, and looks whether a good call is answered, nothing is held or written, and no connection is left. */
export async function attack({ name, run }: Attack, world: FuzzWorld): Promise<string | undefined> {
  const faults: unknown[] = [];
  const listener = await listen({
    handler: world.berth.extender,
    host: "127.0.0.1",
    port: 0,
    bodyLimitBytes: limits.bodyBytesMax,
    onFault: (fault) => void faults.push(fault),
  });
  const before = world.quickDigest();
  try {
    const problem = (await run({ world, port: listener.port })) ?? (await goodCall(listener));
    if (problem !== undefined) return `${name}: ${problem}`;
    if (faults.length > 0) return `${name}: a fault of ours: ${String(faults[0])}`;
    if (world.writes.length > 0) return `${name}: it wrote ${JSON.stringify(world.writes[0])}`;
    return world.quickDigest() === before ? undefined : `${name}: ${before} became ${world.quickDigest()}`;
  } finally {
    await listener.closeNow();
  }
}

export async function goodCall({ port }: Pick<Listener, "port">): Promise<string | undefined> {
  const reply = await fetch(`http://127.0.0.1:${port}/livez`);
  return reply.status === 200 ? undefined : `a good call was answered ${reply.status}`;
}

interface Talk {
  readonly socket: Socket;
  text: string;
  readonly over: Promise<void>;
}

function talk(port: number, bytes: string | Buffer, allowHalfOpen = false): Talk {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen });
  const over = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const one: Talk = { socket, text: "", over };
  socket.on("data", (data) => {
    one.text += data.toString("latin1");
  });
  socket.on("error", () => {});
  socket.write(bytes);
  return one;
}

/** Until it is true, or a good while has passed. */
async function until(isSo: () => boolean): Promise<boolean> {
  for (let look = 0; look < 1_000; look++) {
    if (isSo()) return true;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return false;
}

function statusesOf(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

async function sendBroken(port: number, bytes: string | Buffer): Promise<string | undefined> {
  const one = talk(port, bytes);
  const isAnswered = await until(() => one.socket.closed || statusesOf(one.text).length > 0);
  one.socket.destroy();
  if (!isAnswered) return "neither an answer nor an end";
  const statuses = statusesOf(one.text);
  return statuses.every((status) => status === 200 || (status >= 400 && status < 500))
    ? undefined
    : `status ${statuses}`;
}

async function pipelined({ port, world }: Target, count: number): Promise<string | undefined> {
  const pod = world.pods.find(({ metadata }) => metadata.name === "no-claims");
  // Each asks about one node more than the one before it: the answers tell their order.
  const askOf = (nth: number): string =>
    post(
      "/v1/filter",
      JSON.stringify({ Pod: pod, NodeNames: Array.from({ length: (nth % 50) + 1 }, (_, at) => nodeName(at)) }),
    );
  const one = talk(port, Array.from({ length: count }, (_, nth) => askOf(nth)).join(""));
  const isWhole = await until(() => statusesOf(one.text).length === count && one.text.endsWith("}"));
  one.socket.destroy();
  if (!isWhole) return `${statusesOf(one.text).length} answers to ${count} requests`;
  const told = [...one.text.matchAll(/"NodeNames":\[([^\]]*)\]/g)].map(([, names = ""]) => names.split(",").length);
  return told.every((length, nth) => length === (nth % 50) + 1) ? undefined : "answers in another order";
}

async function halfClosed({ port }: Target): Promise<string | undefined> {
  const whole = talk(port, post("/v1/bind", bind), true);
  whole.socket.end();
  const isAnswered = await until(() => statusesOf(whole.text).length === 1);
  whole.socket.destroy();
  const half = talk(port, post("/v1/bind", bind).slice(0, -5), true);
  half.socket.end();
  const isOver = await until(() => half.socket.readableEnded || half.socket.closed);
  half.socket.destroy();
  if (!isAnswered) return "no answer";
  return isOver ? undefined : "the connection of half a request stays open";
}

async function leaving(port: number, bytes: string): Promise<string | undefined> {
  for (let nth = 0; nth < 50; nth++) {
    const { socket, over } = talk(port, bytes);
    socket.once("connect", () => setImmediate(() => (nth % 2 === 0 ? socket.resetAndDestroy() : socket.destroy())));
    await over;
  }
  return undefined;
}

async function deaf({ port, world }: Target): Promise<string | undefined> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.pause();
  const body = JSON.stringify({ Pod: world.pods[0], NodeNames: Array.from({ length: 2_000 }, (_, at) => `n${at}`) });
  let sent = 0;
  for (; sent < 2_000 && socket.write(post("/v1/filter", body)); sent++) await new Promise(setImmediate);
  const problem = await goodCall({ port });
  socket.destroy();
  return problem ?? (sent < 2_000 ? undefined : "all requests of a caller that reads nothing were taken");
}

/** So many connections of another process that say nothing; what a good call meets meanwhile. */
export async function idle(
  world: FuzzWorld,
  count: number,
): Promise<{ open: number; bytesEach: number; problem: string | undefined }> {
  const handler = world.berth.extender;
  const listener = await listen({ handler, host: "127.0.0.1", port: 0, bodyLimitBytes: limits.bodyBytesMax });
  const before = process.memoryUsage().rss;
  const client = fork(fileURLToPath(new URL("./idle-client.ts", import.meta.url)), [
    String(listener.port),
    String(count),
  ]);
  const open = await new Promise<number>((resolve) => client.once("message", (message) => resolve(Number(message))));
  const bytesEach = (process.memoryUsage().rss - before) / Math.max(1, open);
  const problem = await goodCall(listener);
  const isGone = new Promise((resolve) => client.once("exit", resolve));
  client.kill();
  await isGone;
  await listener.closeNow();
  return { open, bytesEach, problem };
}
