/** What one caller may take of a listener: connections, heads, idle time, and replies that nobody reads. Over TCP and over TLS. */
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterEach, beforeAll, expect, test } from "vitest";
import { type Listener, type ListenOptions, listen } from "../../src/http/listener.ts";
import type { TlsMaterial } from "../../src/http/tls-files.ts";
import { Authority } from "../support/certificates.ts";

let tls: TlsMaterial;
beforeAll(async () => {
  const authority = await Authority.make();
  tls = { ...(await authority.issue({ name: "berth" })), ca: authority.cert };
});

const open: Listener[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const listener of open.splice(0)) await listener.closeNow();
});

type Way = "TCP" | "TLS";
const ways: readonly Way[] = ["TCP", "TLS"];
const large = 32 << 20;

async function serve(way: Way, more: Partial<ListenOptions> = {}): Promise<Listener> {
  const listener = await listen({
    handler: async ({ path }) => ({
      status: 200,
      headers: {},
      body: path === "/large" ? Buffer.alloc(large, "x") : "ok",
    }),
    host: "127.0.0.1",
    port: 0,
    bodyLimitBytes: 1_024,
    ...(way === "TLS" && { tls }),
    ...more,
  });
  open.push(listener);
  return listener;
}

interface Talk {
  readonly socket: Socket;
  text: string;
}

async function talk(way: Way, { port }: Listener, sent = ""): Promise<Talk> {
  const to = { host: "127.0.0.1", port };
  const socket = way === "TLS" ? connectTls({ ...to, rejectUnauthorized: false }) : connectPlain(to);
  sockets.push(socket);
  const one: Talk = { socket, text: "" };
  socket.on("data", (data) => {
    one.text += data.toString("latin1");
  });
  socket.on("error", () => {});
  await new Promise((resolve) => {
    socket.once(way === "TLS" ? "secureConnect" : "connect", resolve);
    socket.once("close", resolve);
  });
  if (sent !== "") socket.write(sent);
  return one;
}

/** What a caller is told who comes now and goes at once; "" where the connection is closed instead. */
async function answered(way: Way, listener: Listener): Promise<string> {
  const one = await talk(way, listener, get());
  if (!one.socket.closed) await new Promise((resolve) => one.socket.once("data", resolve).once("close", resolve));
  one.socket.destroy();
  return one.text;
}

const isOver = ({ socket }: Talk): boolean => socket.closed || socket.readableEnded;
const get = (path = "/", headers = ""): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`;

test.for(ways)(
  "over %s one connection too many is closed at once and counted, and its place is free again later",
  async (way) => {
    const causes: string[] = [];
    const listener = await serve(way, { connectionsMax: 3, onTurnedAway: (cause) => void causes.push(cause) });
    const talks = [];
    for (let nth = 0; nth < 3; nth++) talks.push(await talk(way, listener, get()));
    for (const one of talks) await expect.poll(() => one.text).toContain("200 OK");
    const fourth = await talk(way, listener, get());
    await expect.poll(() => isOver(fourth)).toBe(true);
    expect([fourth.text, causes]).toEqual(["", ["tooMany"]]);
    talks[0]?.socket.destroy();
    await expect.poll(() => answered(way, listener), { timeout: 10_000 }).toContain("200 OK");
  },
);

const heads: Record<string, { headers: string; want: number }> = {
  "100 headers": { headers: "x: y\r\n".repeat(99), want: 200 },
  "101 headers": { headers: "x: y\r\n".repeat(100), want: 431 },
  "3,000 headers": { headers: "x:y\r\n".repeat(3_000), want: 431 },
  "a header of 15 KiB": { headers: `x: ${"y".repeat(15 << 10)}\r\n`, want: 200 },
  "a header of 17 KiB": { headers: `x: ${"y".repeat(17 << 10)}\r\n`, want: 431 },
};

test.for(ways.flatMap((way) => Object.entries(heads).map(([name, one]) => ({ way, name, ...one }))))(
  "over $way a request with $name is answered $want",
  async ({ way, headers, want }) => {
    const listener = await serve(way);
    const one = await talk(way, listener, get("/", headers));
    await expect.poll(() => one.text).toContain(`HTTP/1.1 ${want} `);
    if (want !== 200) await expect.poll(() => isOver(one)).toBe(true);
  },
);

test.for(ways)("over %s a connection between requests is kept for so long, and then closed", async (way) => {
  const listener = await serve(way, { timeouts: { idleMs: 100 } });
  const one = await talk(way, listener, get());
  await expect.poll(() => one.text).toContain("200 OK");
  expect(isOver(one)).toBe(false);
  // Node gives a second beyond.
  await expect.poll(() => isOver(one), { timeout: 10_000 }).toBe(true);
});

test.for(ways)(
  "over %s a reply that its caller does not take is given up, and one that he takes comes whole",
  async (way) => {
    const listener = await serve(way, { connectionsMax: 1, timeouts: { replyMs: 300 } });
    const deaf = await talk(way, listener);
    deaf.socket.pause();
    deaf.socket.write(get("/large"));
    // There is one place, and it is taken until the reply is given up.
    expect(await answered(way, listener)).toBe("");
    await expect.poll(() => answered(way, listener), { timeout: 10_000 }).toContain("200 OK");
    const patient = await serve(way);
    const one = await talk(way, patient, get("/large"));
    await expect.poll(() => one.text.length, { timeout: 10_000 }).toBeGreaterThan(large);
  },
);
