/** The real transport over real sockets on loopback. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import type { Connection } from "../../src/kube/connection.ts";
import { Transport, type TransportOptions } from "../../src/kube/transport.ts";
import { nodeRuntime } from "../../src/runtime/node-runtime.ts";
import type { HttpReply, HttpRequest } from "../../src/runtime/runtime.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface World {
  readonly port: number;
  readonly sockets: Set<Socket>;
  /** Connections ever made. */
  connections: number;
  readonly requests: { method: string; url: string; headers: http.IncomingHttpHeaders; body: string }[];
  answer: (request: http.IncomingMessage, response: http.ServerResponse) => void;
}

async function serve(tls?: https.ServerOptions): Promise<World> {
  const world: World = {
    port: 0,
    sockets: new Set(),
    connections: 0,
    requests: [],
    answer: (_, response) => response.end("{}"),
  };
  const listener: http.RequestListener = (request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      world.requests.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
      world.answer(request, response);
    });
  };
  const server = tls ? https.createServer(tls, listener) : http.createServer(listener);
  server.on("connection", (socket: Socket) => {
    world.connections++;
    world.sockets.add(socket);
    socket.on("close", () => world.sockets.delete(socket));
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    for (const socket of world.sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return Object.assign(world, { port: (server.address() as AddressInfo).port });
}

function transportTo(
  connection: Partial<Connection> & { server: string },
  options: Partial<TransportOptions> = {},
): Transport {
  const transport = new Transport({
    runtime: nodeRuntime,
    connection: { credentials: { kind: "none" }, ...connection },
    ...options,
  });
  cleanups.push(() => transport.close());
  return transport;
}

const never = new AbortController().signal;
const get = (path = "/x"): HttpRequest => ({ method: "GET", path, headers: {} });
const post = (body = "{}"): HttpRequest => ({
  method: "POST",
  path: "/x",
  headers: { "content-type": "application/json" },
  body,
});

async function textOf({ body }: HttpReply): Promise<string> {
  if (typeof body === "string" || body instanceof Uint8Array) return body.toString();
  let text = "";
  for await (const chunk of body) text += Buffer.from(chunk).toString();
  return text;
}

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), "berth-transport-"));
  cleanups.push(() => rmSync(path, { recursive: true }));
  return path;
}

test("a request arrives whole, behind the path of the server", async () => {
  const world = await serve();
  const transport = transportTo({
    server: `http://127.0.0.1:${world.port}/k8s/`,
    headers: { "impersonate-user": "berth" },
  });
  const reply = await transport.exchange(post('{"ä":1}'), never);
  expect(await textOf(reply)).toBe("{}");
  expect(world.requests).toMatchObject([
    { method: "POST", url: "/k8s/x", body: '{"ä":1}', headers: { "content-length": "8", "impersonate-user": "berth" } },
  ]);
});

test("calls share a connection, one after the other", async () => {
  const world = await serve();
  const transport = transportTo({ server: `http://127.0.0.1:${world.port}` });
  for (let call = 0; call < 20; call++) await textOf(await transport.exchange(get(), never));
  expect(world.connections).toBe(1);
});

test("many calls at once open no more than their share of connections", async () => {
  const world = await serve();
  world.answer = (_, response) => void setTimeout(() => response.end("{}"), 10);
  const transport = transportTo({ server: `http://127.0.0.1:${world.port}` }, { socketsMax: 4 });
  await Promise.all(Array.from({ length: 40 }, async () => textOf(await transport.exchange(get(), never))));
  expect(world.connections).toBe(4);
});

test("watches have connections of their own and do not hold up calls", async () => {
  const world = await serve();
  world.answer = (request, response) => {
    if (request.url?.includes("watch=true")) response.write('{"type":"BOOKMARK"}\n');
    else response.end("{}");
  };
  const transport = transportTo({ server: `http://127.0.0.1:${world.port}` }, { socketsMax: 1 });
  const stop = new AbortController();
  for (let watch = 0; watch < 8; watch++) await transport.exchange(get("/x?watch=true"), stop.signal);
  expect(await textOf(await transport.exchange(get(), never))).toBe("{}");
  expect(world.connections).toBe(9);
  stop.abort();
  await expect.poll(() => world.sockets.size).toBe(1);
});

test("compressed answers come out plain", async () => {
  const world = await serve();
  const text = JSON.stringify({ items: Array(1000).fill("volume") });
  world.answer = (_, response) => response.setHeader("content-encoding", "gzip").end(gzipSync(text));
  const reply = await transportTo({ server: `http://127.0.0.1:${world.port}` }).exchange(get(), never);
  expect(reply.headers["content-encoding"]).toBe(undefined);
  expect(await textOf(reply)).toBe(text);
});

test("a compressed answer that breaks off is an error, not a short answer", async () => {
  const world = await serve();
  world.answer = (request, response) => {
    response.setHeader("content-encoding", "gzip").write(gzipSync("x".repeat(100_000)).subarray(0, 50));
    setTimeout(() => request.socket.destroy(), 20);
  };
  const reply = await transportTo({ server: `http://127.0.0.1:${world.port}` }).exchange(get(), never);
  await expect(textOf(reply)).rejects.toThrow();
});

test("an answer that breaks off is an error, and nobody who does not read is hurt", async () => {
  const world = await serve();
  world.answer = (request, response) => {
    response.write("half");
    setTimeout(() => request.socket.destroy(), 20);
  };
  const transport = transportTo({ server: `http://127.0.0.1:${world.port}` });
  await transport.exchange(get(), never);
  await expect(textOf(await transport.exchange(get(), never))).rejects.toThrow();
});

test("no server is an error", async () => {
  const world = await serve();
  const { port } = world;
  await cleanups.pop()?.();
  await expect(transportTo({ server: `http://127.0.0.1:${port}` }).exchange(get(), never)).rejects.toThrow(
    "ECONNREFUSED",
  );
});

test("a connection that does not come to stand is given up", async () => {
  // It accepts, and never speaks TLS.
  const mute = createServer((socket) => void cleanups.push(() => socket.destroy()));
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => mute.close());
  const server = `https://127.0.0.1:${(mute.address() as AddressInfo).port}`;
  await expect(transportTo({ server }, { connectTimeoutMs: 50 }).exchange(get(), never)).rejects.toThrow(
    "within 50 ms",
  );
});

test("a caller who goes ends the request, before and within the answer", async () => {
  const world = await serve();
  world.answer = () => undefined;
  const transport = transportTo({ server: `http://127.0.0.1:${world.port}` });
  const first = new AbortController();
  const waiting = transport.exchange(get(), first.signal);
  await expect.poll(() => world.requests.length).toBe(1);
  first.abort();
  await expect(waiting).rejects.toThrow("aborted");

  world.answer = (_, response) => response.write("half");
  const second = new AbortController();
  const reply = await transport.exchange(get(), second.signal);
  second.abort();
  await expect(textOf(reply)).rejects.toThrow();
  await expect.poll(() => world.sockets.size).toBe(0);

  const gone = new AbortController();
  gone.abort();
  await expect(transport.exchange(get(), gone.signal)).rejects.toThrow("aborted");
});

test("destroyWrites cuts the writes that are out, and only those", async () => {
  const world = await serve();
  const waiting: http.ServerResponse[] = [];
  world.answer = (_, response) => void waiting.push(response);
  const transport = transportTo({ server: `http://127.0.0.1:${world.port}` });
  const write = transport.exchange(post(), never).then(
    () => "answered",
    (error: Error) => error.message,
  );
  const read = transport.exchange(get(), never);
  await expect.poll(() => waiting.length).toBe(2);
  transport.destroyWrites();
  expect(await write).toBe("the writes were cut off");
  for (const response of waiting) response.end("{}");
  expect((await read).status).toBe(200);

  // Who leads again may write again.
  world.answer = (_, response) => response.end("{}");
  expect((await transport.exchange(post(), never)).status).toBe(200);
});

test("a token from a file is trimmed, read again after a minute, and at once after a 401 (FR-114)", async () => {
  const world = await serve();
  const path = join(directory(), "token");
  let clock = 0;
  const runtime = { ...nodeRuntime, now: () => clock };
  writeFileSync(path, "first\n");
  const transport = transportTo(
    { server: `http://127.0.0.1:${world.port}`, credentials: { kind: "tokenFile", path } },
    { runtime },
  );
  const sentBy = async (): Promise<(string | undefined)[]> => {
    const before = world.requests.length;
    await textOf(await transport.exchange(post(), never));
    return world.requests.slice(before).map(({ headers }) => headers.authorization);
  };
  expect(await sentBy()).toEqual(["Bearer first"]);

  writeFileSync(path, "second\n");
  clock = 59_000;
  expect(await sentBy()).toEqual(["Bearer first"]);
  clock = 60_000;
  expect(await sentBy()).toEqual(["Bearer second"]);

  writeFileSync(path, "third");
  world.answer = (request, response) =>
    response.writeHead(request.headers.authorization === "Bearer third" ? 200 : 401).end("{}");
  expect(await sentBy()).toEqual(["Bearer second", "Bearer third"]);

  // No loop where nothing has changed, and a file in the middle of its replacement is no loss.
  writeFileSync(path, "");
  world.answer = (_, response) => response.writeHead(401).end("{}");
  expect(await sentBy()).toEqual(["Bearer third"]);
  rmSync(path);
  clock = 200_000;
  expect(await sentBy()).toEqual(["Bearer third"]);
});

test("a token file that was never there is an error that names it", async () => {
  const world = await serve();
  const path = join(directory(), "token");
  const transport = transportTo({ server: `http://127.0.0.1:${world.port}`, credentials: { kind: "tokenFile", path } });
  await expect(transport.exchange(get(), never)).rejects.toThrow(path);
  expect(world.requests).toEqual([]);
});

test("a plugin that hangs does not outlast the request", async () => {
  const world = await serve();
  const transport = transportTo({
    server: `http://127.0.0.1:${world.port}`,
    credentials: { kind: "ask", authorization: () => new Promise(() => undefined) },
  });
  const caller = new AbortController();
  const call = transport.exchange(get(), caller.signal);
  caller.abort();
  await expect(call).rejects.toThrow("aborted");
});

const credentials: Record<string, { credentials: Connection["credentials"]; want: string | undefined }> = {
  nobody: { credentials: { kind: "none" }, want: undefined },
  "a token": { credentials: { kind: "token", token: "t" }, want: "Bearer t" },
  "a name and a password": { credentials: { kind: "basic", username: "u", password: "p" }, want: "Basic dTpw" },
  "a plugin": { credentials: { kind: "ask", authorization: async () => "Bearer asked" }, want: "Bearer asked" },
};

test.for(Object.entries(credentials))("credentials: %s", async ([, { credentials, want }]) => {
  const world = await serve();
  await transportTo({ server: `http://127.0.0.1:${world.port}`, credentials }).exchange(get(), never);
  expect(world.requests[0]?.headers.authorization).toBe(want);
});

test("TLS: the server's certificate is checked, by its name too, and ours is shown", async () => {
  const where = directory();
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: where, stdio: "pipe" });
  for (const [name, alt] of [
    ["server", "DNS:kube.test"],
    ["client", "DNS:berth"],
  ] as const) {
    openssl(
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-days",
      "2",
      "-subj",
      `/CN=${name}`,
      "-addext",
      `subjectAltName=${alt}`,
      "-keyout",
      `${name}.key`,
      "-out",
      `${name}.crt`,
    );
  }
  const file = (name: string) => readFileSync(join(where, name));
  const world = await serve({
    key: file("server.key"),
    cert: file("server.crt"),
    ca: file("client.crt"),
    requestCert: true,
    rejectUnauthorized: true,
  });
  const server = `https://127.0.0.1:${world.port}`;
  const mine = { cert: file("client.crt"), key: file("client.key") };

  const trusted = transportTo({ server, ca: file("server.crt"), serverName: "kube.test", ...mine });
  expect((await trusted.exchange(get(), never)).status).toBe(200);
  await expect(transportTo({ server, ...mine, serverName: "kube.test" }).exchange(get(), never)).rejects.toThrow(
    "self-signed",
  );
  await expect(transportTo({ server, ca: file("server.crt"), ...mine }).exchange(get(), never)).rejects.toThrow(
    "does not match",
  );
  await expect(
    transportTo({ server, ca: file("server.crt"), serverName: "kube.test" }).exchange(get(), never),
  ).rejects.toThrow();
  expect((await transportTo({ server, insecure: true, ...mine }).exchange(get(), never)).status).toBe(200);
});
