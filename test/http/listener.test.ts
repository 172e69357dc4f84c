import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type Listener, listen } from "../../src/http/listener.ts";
import type { Exchange, HttpReply, HttpRequest } from "../../src/runtime/runtime.ts";

const open: Listener[] = [];
afterEach(async () => {
  for (const listener of open.splice(0)) await listener.closeNow();
});

async function serve(handler: Exchange, bodyLimitBytes = 1024): Promise<Listener> {
  const listener = await listen({ handler, host: "127.0.0.1", port: 0, bodyLimitBytes });
  open.push(listener);
  return listener;
}

const urlOf = ({ port }: Listener, path = "/"): string => `http://127.0.0.1:${port}${path}`;
const ok = (body: HttpReply["body"] = "{}"): HttpReply => ({
  status: 200,
  headers: { "content-type": "application/json" },
  body,
});
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test("a request arrives as it was sent, whatever its method and type", async () => {
  const seen: HttpRequest[] = [];
  const listener = await serve(async (request) => {
    seen.push(request);
    return ok();
  });
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
    const body = method === "GET" ? {} : { body: "{not json", headers: { "content-type": "application/odd+type" } };
    await fetch(urlOf(listener, "/api/v1/pods?limit=5&x=%2F"), { method, ...body });
  }
  expect(seen.map(({ method }) => method)).toEqual(["GET", "POST", "PUT", "PATCH", "DELETE"]);
  expect(new Set(seen.map(({ path }) => path))).toEqual(new Set(["/api/v1/pods?limit=5&x=%2F"]));
  expect(seen[0]?.body).toBeUndefined();
  expect(Buffer.from(seen[1]?.body ?? "").toString()).toBe("{not json");
  expect(seen[1]?.headers["content-type"]).toBe("application/odd+type");
});

test("whole replies carry their length, texts and bytes alike", async () => {
  const bodies: HttpReply["body"][] = ["texté", new TextEncoder().encode("bytes"), ""];
  const listener = await serve(async ({ path }) => ok(bodies[Number(path.slice(1))] ?? ""));
  for (const [index, want] of ["texté", "bytes", ""].entries()) {
    const reply = await fetch(urlOf(listener, `/${index}`));
    expect(reply.headers.get("content-length")).toBe(String(Buffer.byteLength(want)));
    expect(reply.headers.get("transfer-encoding")).toBeNull();
    expect(await reply.text()).toBe(want);
  }
});

test("a body beyond the limit is 413 in JSON; the limit itself passes", async () => {
  const listener = await serve(async ({ body }) => ok(String(body?.length)));
  const send = (length: number): Promise<Response> =>
    fetch(urlOf(listener), { method: "POST", body: "x".repeat(length) });
  expect(await (await send(1024)).text()).toBe("1024");
  const refused = await send(1025);
  expect(refused.status).toBe(413);
  expect(await refused.json()).toMatchObject({ kind: "Status", code: 413, reason: "RequestEntityTooLarge" });
});

test("a body of 64 MiB arrives whole", async () => {
  const limit = 64 * 1024 * 1024;
  const listener = await serve(async ({ body }) => ok(String(body?.length)), limit);
  const reply = await fetch(urlOf(listener), { method: "POST", body: Buffer.alloc(limit, "x") });
  expect(await reply.text()).toBe(String(limit));
});

test("a handler that throws is a 500 in JSON, and is told of", async () => {
  const faults: unknown[] = [];
  const handler: Exchange = () => Promise.reject(new Error("broken"));
  const onFault = (fault: unknown): void => void faults.push(fault);
  const listener = await listen({ handler, host: "127.0.0.1", port: 0, bodyLimitBytes: 9, onFault });
  open.push(listener);
  const reply = await fetch(urlOf(listener));
  expect(reply.status).toBe(500);
  expect(await reply.json()).toMatchObject({ kind: "Status", reason: "InternalError" });
  expect(faults).toEqual([new Error("broken")]);
});

function get(listener: Listener, path = "/", agent?: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    httpRequest(urlOf(listener, path), agent ? { agent } : {}, resolve)
      .on("error", reject)
      .end();
  });
}

test("a stream's head and each chunk go out at once", async () => {
  const gates: (() => void)[] = [];
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (const text of ["one", "two"]) {
      await new Promise<void>((resolve) => gates.push(resolve));
      yield Buffer.from(text);
    }
  }
  const listener = await serve(async () => ok(chunks()));
  const reply = await get(listener);
  const reader = reply[Symbol.asyncIterator]();
  for (const want of ["one", "two"]) {
    gates.shift()?.();
    expect(Buffer.from((await reader.next()).value).toString()).toBe(want);
  }
  expect((await reader.next()).done).toBe(true);
});

test("the signal aborts when the client hangs up, and not before", async () => {
  let aborted: Promise<void> | undefined;
  let isAborted = false;
  const listener = await serve(async (_request, signal) => {
    aborted = new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    aborted.then(() => {
      isAborted = true;
    });
    await aborted;
    return ok();
  });
  const request = httpRequest(urlOf(listener), { method: "POST" });
  request.on("error", () => {});
  request.end("body");
  await pause(150);
  expect([aborted !== undefined, isAborted]).toEqual([true, false]);
  request.destroy();
  await aborted;
  expect(isAborted).toBe(true);
});

test("the signal of a finished reply never aborts", async () => {
  const signals: AbortSignal[] = [];
  const listener = await serve(async (_request, signal) => {
    signals.push(signal);
    return ok();
  });
  await (await fetch(urlOf(listener), { method: "POST", body: "x" })).text();
  await listener.closeNow();
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
});

test("a stream of a client that hangs up is let go", async () => {
  let returned = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        yield Buffer.from("x");
        await pause(5);
      }
    } finally {
      returned = true;
    }
  }
  const listener = await serve(async () => ok(endless()));
  (await get(listener)).destroy();
  await expect.poll(() => returned).toBe(true);
});

test("a client that does not read holds the stream back", async () => {
  let made = 0;
  async function* flood(): AsyncGenerator<Uint8Array> {
    for (; made < 1000; made++) yield Buffer.alloc(1024 * 1024);
  }
  const listener = await serve(async () => ok(flood()));
  const socket = connect(listener.port, "127.0.0.1");
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  await pause(300);
  expect(made).toBeLessThan(100);
  socket.destroy();
});

test("close waits for replies in progress and then takes no more", async () => {
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const listener = await serve(async () => {
    begin();
    await pause(150);
    return ok('"late"');
  });
  const agent = new Agent({ keepAlive: true });
  const reply = get(listener, "/", agent);
  await begun;
  // The test ends well before the connection that is kept alive would.
  const closed = listener.close();
  const { statusCode, headers } = (await reply).resume();
  expect([statusCode, headers.connection]).toEqual([200, "close"]);
  expect(await closed).toBeUndefined();
  agent.destroy();
  await expect(fetch(urlOf(listener))).rejects.toThrow();
});

test("closeNow ends streams that close would wait for", async () => {
  async function* silent(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    yield Buffer.from("x");
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  }
  const listener = await serve(async (_request, signal) => ok(silent(signal)));
  const reply = await get(listener);
  reply.on("error", () => {});
  const closed = listener.close().then(() => "closed");
  expect(await Promise.race([closed, pause(100).then(() => "waiting")])).toBe("waiting");
  await listener.closeNow();
  expect(await closed).toBe("closed");
});

test("an address that cannot be had is an error", async () => {
  const listener = await serve(async () => ok());
  const again = listen({ handler: async () => ok(), host: "127.0.0.1", port: listener.port, bodyLimitBytes: 9 });
  await expect(again).rejects.toThrow("EADDRINUSE");
});

test("a stream that ends while the server closes lets go of its connection", async () => {
  let end = (): void => {};
  async function* once(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("x");
    await new Promise<void>((resolve) => {
      end = resolve;
    });
  }
  const listener = await serve(async () => ok(once()));
  const agent = new Agent({ keepAlive: true });
  const reply = await get(listener, "/", agent);
  reply.resume();
  await pause(50);
  const closed = listener.close();
  end();
  await closed;
  agent.destroy();
});

/** Sends bytes on a connection of its own and leaves it open. */
function opened({ port }: Listener, text: string): Socket & { text: string } {
  const socket = Object.assign(connect(port, "127.0.0.1"), { text: "" });
  socket.on("data", (data) => {
    socket.text += String(data);
  });
  socket.on("error", () => {});
  socket.write(text);
  return socket;
}

test("bodies that are on their way hold so much together, and the next one is told to come again", async () => {
  const faults: unknown[] = [];
  const handler: Exchange = async ({ body }) => ok(String(body?.length));
  const onFault = (fault: unknown): void => void faults.push(fault);
  const listener = await listen({ handler, host: "127.0.0.1", port: 0, bodyLimitBytes: 1_000, onFault });
  open.push(listener);
  const head = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n";
  const unfinished = Array.from({ length: 4 }, () => opened(listener, head + "x".repeat(990)));
  await pause(100);
  const last = opened(listener, head + "x".repeat(990));
  await expect.poll(() => last.text).toContain("HTTP/1.1 503");
  expect(last.text).toContain('"reason":"ServiceUnavailable"');
  await expect.poll(() => last.closed || last.readableEnded).toBe(true);
  for (const socket of unfinished) socket.destroy();
  const send = async (): Promise<string> =>
    (await fetch(urlOf(listener), { method: "POST", body: "x".repeat(1_000) })).text();
  await expect.poll(send).toBe("1000");
  for (let nth = 0; nth < 20; nth++) expect(await send()).toBe("1000");
  expect(faults).toEqual([]);
});

test("one connection too many is closed at once, and may come once another has gone", async () => {
  const handler: Exchange = async () => ok();
  const listener = await listen({ handler, host: "127.0.0.1", port: 0, bodyLimitBytes: 9, connectionsMax: 3 });
  open.push(listener);
  const asked = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
  const standing = Array.from({ length: 3 }, () => opened(listener, asked));
  await expect.poll(() => standing.every(({ text }) => text.includes("200 OK"))).toBe(true);
  const late = opened(listener, asked);
  await expect.poll(() => late.closed || late.readableEnded).toBe(true);
  expect(late.text).toBe("");
  standing[0]?.destroy();
  const again = async (): Promise<string> => {
    const socket = opened(listener, asked);
    await new Promise((resolve) => socket.once("data", resolve).once("close", resolve));
    socket.destroy();
    return socket.text;
  };
  await expect.poll(again).toContain("200 OK");
  expect(standing.slice(1).every(({ closed }) => !closed)).toBe(true);
});

const slow = { headersMs: 500, requestMs: 1_000, checkMs: 50 };

test.for([
  ["a head", "POST / HTTP/1.1\r\nhost: x\r\nx-slow: "],
  ["a body", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n"],
  ["nothing at all", ""],
])(
  "a caller that sends %s byte by byte is let go, and others are answered meanwhile",
  async ([what = "", text = ""]) => {
    const handler: Exchange = async () => ok();
    const listener = await listen({ handler, host: "127.0.0.1", port: 0, bodyLimitBytes: 1_024, timeouts: slow });
    open.push(listener);
    const socket = opened(listener, text);
    const drip = setInterval(() => what !== "nothing at all" && socket.writable && socket.write("x"), 10);
    expect((await fetch(urlOf(listener))).status).toBe(200);
    await expect.poll(() => socket.closed || socket.readableEnded, { timeout: 15_000 }).toBe(true);
    clearInterval(drip);
    expect(socket.text).toMatch(/^(HTTP\/1.1 408|$)/);
    expect((await fetch(urlOf(listener))).status).toBe(200);
  },
);
