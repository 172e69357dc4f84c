/** The listener's TLS: who is at the other end, what time and connections it gives away, and new certificates under load. */
import { Agent, request as httpsRequest } from "node:https";
import { connect as connectPlain, type Socket } from "node:net";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { afterEach, beforeAll, expect, test } from "vitest";
import { type Listener, type ListenOptions, listen } from "../../src/http/listener.ts";
import type { Peer, RequestHead } from "../../src/runtime/runtime.ts";
import { Authority, type Pair } from "../support/certificates.ts";

let authority: Authority;
let foreign: Authority;
let server: Pair;
let client: Pair;

beforeAll(async () => {
  [authority, foreign] = [await Authority.make(), await Authority.make("foreign")];
  [server, client] = [await authority.issue({ name: "berth" }), await authority.issue({ name: "scheduler" })];
});

const open: { closeNow(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.closeNow();
});

/** Answers who it thinks is calling, and closes nothing. */
async function serve(more: Partial<ListenOptions> = {}): Promise<{ listener: Listener; heads: RequestHead[] }> {
  const heads: RequestHead[] = [];
  const listener = await listen({
    handler: async () => ({ status: 200, headers: { "content-type": "text/plain" }, body: "ok" }),
    admit: (head) => {
      heads.push(head);
      return { kind: "admitted", isLong: false, leave: () => {} };
    },
    host: "127.0.0.1",
    port: 0,
    bodyLimitBytes: 1_024,
    tls: { ...server, ca: authority.cert },
    ...more,
  });
  open.push(listener);
  return { listener, heads };
}

interface Reply {
  readonly status: number | undefined;
  readonly connection: string | undefined;
  readonly text: string;
}

function call({ port }: Listener, options: ConnectionOptions & { agent?: Agent } = {}, body = "x"): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { agent = false, ...tls } = options;
    const asked = { host: "127.0.0.1", port, method: "POST", ca: authority.cert, agent, ...tls };
    const request = httpsRequest(asked, (reply) => {
      let text = "";
      reply.on("data", (part) => {
        text += part;
      });
      reply.on("end", () => resolve({ status: reply.statusCode, connection: reply.headers.connection, text }));
      reply.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

async function peerOf(options: ConnectionOptions): Promise<Peer | undefined> {
  const { listener, heads } = await serve();
  await call(listener, options);
  return heads[0]?.peer;
}

test("a certificate of the authority is believed, and has the names that stand in it", async () => {
  const peer = await peerOf(await authority.issue({ name: "system:kube-scheduler", dns: ["scheduler.example"] }));
  expect(peer?.problem).toBeUndefined();
  const names = ["system:kube-scheduler", "scheduler.example", "scheduler", "example", "*.example", ""];
  expect(names.filter((name) => peer?.isNamed(name))).toEqual(["system:kube-scheduler", "scheduler.example"]);
  expect(peer?.subject).toBe("CN=system:kube-scheduler");
});

test("a wildcard and a second common name are nobody's name", async () => {
  const wildcard = await peerOf(await authority.issue({ name: "x", dns: ["*.berth.example"] }));
  expect(["a.berth.example", "*.berth.example"].filter((name) => wildcard?.isNamed(name))).toEqual(["*.berth.example"]);
  // Without a DNS name OpenSSL would take each common name for one.
  const names = ["node.example", "system:kube-scheduler", "scheduler.example"];
  const two = await peerOf(await authority.issue({ name: names, usage: "client" }));
  expect(two?.problem).toBeUndefined();
  expect(names.filter((name) => two?.isNamed(name))).toEqual([]);
});

const strangers: Record<string, { with: () => Promise<ConnectionOptions>; want: Peer["problem"] }> = {
  "no certificate": { with: async () => ({}), want: "none" },
  "one of a foreign authority": { with: () => foreign.issue({ name: "scheduler" }), want: "untrusted" },
  "one that has expired": { with: () => authority.issue({ name: "scheduler", lifeMs: -1_000 }), want: "expired" },
  "one that is not for clients": {
    with: () => authority.issue({ name: "scheduler", usage: "server" }),
    want: "untrusted",
  },
};

test.for(Object.entries(strangers))("%s: the caller may ask, and is not believed", async ([, { with: show, want }]) => {
  expect((await peerOf(await show()))?.problem).toBe(want);
});

test.for(["TLSv1.2", "TLSv1.3"] as const)(
  "with %s, whoever resumes a session is as little believed as when he opened it",
  async (version) => {
    const { listener, heads } = await serve();
    const ask = (session?: Buffer): Promise<{ session: Buffer | undefined; reused: boolean }> =>
      new Promise((resolve, reject) => {
        const versions = { minVersion: version, maxVersion: version };
        const socket = connect({
          host: "127.0.0.1",
          port: listener.port,
          ca: authority.cert,
          ...versions,
          ...(session && { session }),
        });
        let last: Buffer | undefined;
        socket.on("session", (found: Buffer) => {
          last = found;
        });
        socket.on("error", reject);
        socket.on("end", () => resolve({ session: last, reused: socket.isSessionReused() }));
        socket.resume();
        socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
      });
    const first = await ask();
    expect(first.session).toBeDefined();
    expect((await ask(first.session)).reused).toBe(true);
    expect(heads.map(({ peer }) => peer?.problem)).toEqual(["none", "none"]);
  },
);

test("TLS before 1.2 and plain HTTP are no way in, and are counted", async () => {
  const causes: string[] = [];
  const { listener, heads } = await serve({ onTurnedAway: (cause) => void causes.push(cause) });
  const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
  await expect(call(listener, old)).rejects.toThrow();
  await expect(fetch(`http://127.0.0.1:${listener.port}/`)).rejects.toThrow();
  await expect.poll(() => causes).toEqual(["handshake", "handshake"]);
  expect(heads).toEqual([]);
});

/** Says nothing, over TCP alone. */
function silent({ port }: Listener): Socket {
  const socket = connectPlain(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.resume();
  return socket;
}

test("a connection on which TLS never stands is let go, and does not hold up a close", async () => {
  const { listener } = await serve({ timeouts: { handshakeMs: 200 } });
  const first = silent(listener);
  await expect.poll(() => first.closed, { timeout: 10_000 }).toBe(true);
  const { listener: patient } = await serve({ timeouts: { handshakeMs: 60_000 } });
  const second = silent(patient);
  await new Promise((resolve) => second.once("connect", resolve));
  await patient.closeNow();
  await expect.poll(() => second.closed).toBe(true);
});

function agentWith(options: ConnectionOptions = {}): Agent {
  return new Agent({ keepAlive: true, maxSockets: 1, ca: authority.cert, ...client, ...options });
}

test("certificates that are renewed under load: no call fails, and new connections see the new one", async () => {
  const { listener } = await serve();
  const agents = Array.from({ length: 8 }, () => agentWith());
  let isOver = false;
  const statuses: (number | undefined)[] = [];
  const shown = new Set<string>();
  const fresh = async (): Promise<void> => {
    const socket: TLSSocket = connect({ host: "127.0.0.1", port: listener.port, ca: authority.cert, ...client });
    await new Promise<void>((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    shown.add(String(socket.getPeerX509Certificate()?.serialNumber));
    socket.destroy();
  };
  const callers = agents.map(async (agent, nth) => {
    while (!isOver) {
      // Half of them open a connection for each call.
      statuses.push((await call(listener, nth % 2 === 0 ? { agent } : client)).status);
    }
  });
  for (let nth = 0; nth < 10; nth++) {
    await fresh();
    listener.renewTls({ ...(await authority.issue({ name: "berth" })), ca: authority.cert });
    const before = statuses.length;
    await expect.poll(() => statuses.length, { timeout: 10_000 }).toBeGreaterThan(before + 20);
  }
  await fresh();
  isOver = true;
  await Promise.all(callers);
  for (const agent of agents) agent.destroy();
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
  expect(shown.size).toBe(11);
});

test("where the authorities change, connections that stand end with their next reply, and nobody's call fails", async () => {
  const { listener, heads } = await serve();
  const agent = agentWith();
  expect((await call(listener, { agent })).connection).toBe("keep-alive");
  listener.renewTls({ ...server, ca: foreign.cert });
  expect(await call(listener, { agent })).toMatchObject({ status: 200, connection: "close" });
  await call(listener, { agent });
  const problems = heads.map(({ peer }) => peer?.problem);
  expect(problems).toEqual([undefined, undefined, "untrusted"]);
  agent.destroy();
});

test("where the authorities change, a connection whose caller is turned away ends too", async () => {
  const refusal = { status: 401, headers: {}, body: "{}" };
  const { listener } = await serve({ admit: () => ({ kind: "refused", reply: refusal }) });
  const agent = agentWith();
  expect(await call(listener, { agent })).toMatchObject({ status: 401, connection: "keep-alive" });
  listener.renewTls({ ...server, ca: foreign.cert });
  expect(await call(listener, { agent })).toMatchObject({ status: 401, connection: "close" });
  agent.destroy();
});

test("a connection ends with a reply before its certificate does, so that its caller comes with the next one", async () => {
  const { listener } = await serve();
  const lives = [-1, 1, 119, 130, 86_400];
  const kept = [];
  for (const seconds of lives) {
    const agent = agentWith(await authority.issue({ name: "scheduler", lifeMs: seconds * 1_000 }));
    kept.push((await call(listener, { agent })).connection);
    agent.destroy();
  }
  expect(kept).toEqual(["close", "close", "close", "keep-alive", "keep-alive"]);
  const agent = agentWith({ cert: "", key: "" });
  expect((await call(listener, { agent })).connection).toBe("keep-alive");
  agent.destroy();
});

test("HTTP/1.1 is what is offered, also to those who would rather have HTTP/2", async () => {
  const { listener } = await serve();
  const ALPNProtocols = ["h2", "http/1.1"];
  const socket = connect({ host: "127.0.0.1", port: listener.port, ca: authority.cert, ALPNProtocols });
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  expect(socket.alpnProtocol).toBe("http/1.1");
  socket.destroy();
});
