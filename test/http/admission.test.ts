/** What a listener does before it reads a body, and how long work is spread over the turns of the event loop. */
import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type Listener, listen } from "../../src/http/listener.ts";
import type { Admission, Departure, Exchange, HttpReply, RequestHead } from "../../src/runtime/runtime.ts";

const open: Listener[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const listener of open.splice(0)) await listener.closeNow();
});

type Admit = (head: RequestHead) => Admission | Promise<Admission>;

async function serve(handler: Exchange, admit: Admit): Promise<Listener> {
  const listener = await listen({ handler, admit, host: "127.0.0.1", port: 0, bodyLimitBytes: 1 << 20 });
  open.push(listener);
  return listener;
}

class Client {
  readonly socket: Socket;
  text = "";

  constructor({ port }: Listener) {
    this.socket = connect(port, "127.0.0.1");
    sockets.push(this.socket);
    this.socket.on("data", (chunk) => {
      this.text += String(chunk);
    });
  }

  post(path: string, length: number | "chunked", body = ""): void {
    const told = length === "chunked" ? "transfer-encoding: chunked" : `content-length: ${length}`;
    this.socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\n${told}\r\n\r\n${body}`);
  }

  /** Status codes so far. */
  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code));
  }
}

const reply = (status: number): HttpReply => ({ status, headers: {}, body: "{}" });
const served: Exchange = async () => reply(200);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** So many connections that the server has taken and answered on: from now on all of them can be read in one turn. */
async function connected(listener: Listener, count: number): Promise<Client[]> {
  const clients = Array.from({ length: count }, () => new Client(listener));
  for (const { socket } of clients) socket.write("GET /hello HTTP/1.1\r\nhost: x\r\n\r\n");
  await until(() => clients.every(({ statuses }) => statuses.length === 1));
  return clients;
}

/** As `expect.poll`, every turn. */
async function until(holds: () => boolean): Promise<void> {
  await expect.poll(holds, { interval: 1, timeout: 10_000 }).toBe(true);
}

/** Lets all in, and counts who is inside and how they left. */
function counting(isLong: boolean) {
  const heads: RequestHead[] = [];
  const left: Departure[] = [];
  const admit = (head: RequestHead): Admission => {
    heads.push(head);
    return { kind: "admitted", isLong, leave: (departure) => void left.push(departure) };
  };
  return { heads, left, admit };
}

test("a request that is refused is answered before its body comes, and its connection serves the next one", async () => {
  let handled = 0;
  const listener = await serve(
    async (request) => {
      handled++;
      return { ...reply(200), body: String(request.body?.length) };
    },
    ({ path }) =>
      path === "/full" ? { kind: "refused", reply: reply(503) } : { kind: "admitted", isLong: false, leave: () => {} },
  );
  const client = new Client(listener);
  client.post("/full", 200_000);
  await until(() => client.statuses.length === 1);
  expect([client.statuses, handled]).toEqual([[503], 0]);
  client.socket.write("x".repeat(200_000));
  client.post("/", 5, "hello");
  await until(() => client.statuses.length === 2);
  expect([client.statuses, handled]).toEqual([[503, 200], 1]);
  expect(client.text).not.toMatch(/connection: close/i);
});

test("the head tells how long the body is, where anybody knows", async () => {
  const { heads, admit } = counting(false);
  const client = new Client(await serve(served, admit));
  client.post("/sized", 2, "{}");
  client.post("/chunked?a=b", "chunked", "2\r\n{}\r\n0\r\n\r\n");
  client.socket.write("GET /none HTTP/1.1\r\nhost: x\r\n\r\n");
  await until(() => client.statuses.length === 3);
  expect(heads).toEqual([
    { method: "POST", path: "/sized", bodyBytes: 2 },
    { method: "POST", path: "/chunked?a=b", bodyBytes: undefined },
    { method: "GET", path: "/none", bodyBytes: 0 },
  ]);
});

test("whoever came in leaves once: served, too large, of no known form, broken off, or never sent whole", async () => {
  const { left, admit } = counting(false);
  const endless: Exchange = ({ path }, signal) =>
    path === "/waits"
      ? new Promise((_, reject) => signal.addEventListener("abort", reject))
      : served({} as never, signal);
  const listener = await serve(endless, admit);
  const expected: Departure[] = [];
  const step = async (act: (client: Client) => void, departure: Departure): Promise<void> => {
    act(new Client(listener));
    expected.push(departure);
    await until(() => left.length >= expected.length);
    expect(left).toEqual(expected);
  };
  await step((client) => client.post("/", 2, "{}"), "served");
  await step((client) => client.post("/", 2 << 20), "tooLarge");
  await step(({ socket }) => {
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-type: none\r\ncontent-length: 2\r\n\r\n{}");
  }, "undecodable");
  await step((client) => {
    client.post("/half", 1_000, "{");
    setTimeout(() => client.socket.destroy(), 50);
  }, "callerGone");
  await step((client) => {
    client.post("/waits", 2, "{}");
    setTimeout(() => client.socket.destroy(), 50);
  }, "served");
  for (let count = 0; count < 20; count++) await turn();
  expect(left).toEqual(expected);
});

test("whoever goes while it is found out whether he may come in leaves his place too", async () => {
  const left: Departure[] = [];
  let decide: (admission: Admission) => void = () => {};
  let asked = 0;
  const listener = await serve(served, () => {
    asked++;
    return new Promise((resolve) => {
      decide = resolve;
    });
  });
  const client = new Client(listener);
  client.post("/", 2, "{}");
  await until(() => asked === 1);
  client.socket.destroy();
  await until(() => client.socket.closed);
  for (let count = 0; count < 20; count++) await turn();
  decide({ kind: "admitted", isLong: false, leave: (departure) => void left.push(departure) });
  await until(() => left.length > 0);
  expect(left).toEqual(["callerGone"]);
});

test("a body that becomes too long as it comes is answered 413, and its connection ends then", async () => {
  const client = new Client(await serve(served, counting(false).admit));
  client.post("/", "chunked");
  for (let count = 0; count < 40; count++) client.socket.write(`10000\r\n${"x".repeat(1 << 16)}\r\n`);
  await until(() => client.statuses.length === 1 && client.socket.closed);
  expect(client.statuses).toEqual([413]);
});

test("long work is done one piece a turn: who asks for little is not kept waiting for all of it", async () => {
  const order: string[] = [];
  let probe: Client | undefined;
  const listener = await serve(
    async ({ path }) => {
      if (path === "/long" && order.length === 0) probe?.socket.write("GET /livez HTTP/1.1\r\nhost: x\r\n\r\n");
      if (path !== "/hello") order.push(path);
      return reply(200);
    },
    ({ path }) => ({ kind: "admitted", isLong: path === "/long", leave: () => {} }),
  );
  const [first, ...clients] = await connected(listener, 41);
  probe = first;
  for (const client of clients) client.post("/long", 2, "{}");
  await until(() => order.length === 41);
  expect(order.indexOf("/livez")).toBeGreaterThan(0);
  expect(order.indexOf("/livez")).toBeLessThan(20);
});

test("nothing is done for callers who went before their turn", async () => {
  const begun: boolean[] = [];
  let handled = 0;
  let clients: Client[] = [];
  const listener = await serve(
    async ({ path }) => {
      // The others hang up while the first is served.
      if (path === "/long" && ++handled === 1) for (const { socket } of clients) socket.destroy();
      return reply(200);
    },
    ({ path }) => ({
      kind: "admitted",
      isLong: path === "/long",
      leave: (departure) => void (path === "/long" && begun.push(departure === "served")),
    }),
  );
  clients = await connected(listener, 40);
  for (const client of clients) client.post("/long", 2, "{}");
  await until(() => begun.length === 40);
  expect(handled).toBeLessThan(20);
  expect(begun.filter((done) => done)).toHaveLength(handled);
});
