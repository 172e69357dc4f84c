/** The pages as text, without a browser: what they say, how they are locked, and how long they may become. */
import { expect, test } from "vitest";
import { createServer } from "../../src/server/server.ts";
import { TestServer } from "../server/support.ts";
import { makeNode, makePod, makePVC } from "../support/make.ts";
import { apart, askAbout, empty, hopeless, longNames, many, notReady, pinned, shop } from "./worlds.ts";

/** As read by somebody who sees no markup. */
function textOf(page: string): string {
  return page
    .replace(/<head>.*<\/head>/s, "")
    .replace(/<\/?(bdi|a|b|time)\b[^>]*>/g, "")
    .replace(/<\/?(p|li|tr|h\d|div|summary)\b[^>]*>/g, "\n")
    .replace(/<[^>]*>/g, " ")
    .replace(/&quot;/g, '"')
    .replace(/[^\S\n]+/g, " ")
    .replace(/ ?\n[\s]*/g, "\n");
}

const textAt = async (server: TestServer, path: string): Promise<string> => textOf((await server.get(path)).text);

test("the overview says who waits and why, whom somebody must look after first", async () => {
  const { server } = await shop();
  const text = await textAt(server, "/debug/");
  expect(text).toContain("✓ ready");
  expect(text).toContain("7 Pods 3 no node fits 1 not asked about 2 fits 1 being bound");
  const order = [...text.matchAll(/^d\/ ([\w-]+)/gm)].map(([, name]) => name);
  expect(order.slice(0, 7)).toEqual(["search-0", "db-0", "report-7c9f", "batch-1", "cache-0", "queue-0", "archive"]);
  expect(text).toContain("no free volume suits, on all of 5 nodes");
  expect(text).toContain(
    "2 × larger than the largest volume, 1 × no free volume suits, 1 × the driver does not run there, of 4 nodes",
  );
  expect(text).toContain('persistentvolumeclaim "reports" not found');
  expect(text).toContain("1 claim · waits 13 min · asked 2×, 2 min ago");
});

test("the overview says what is left, and who has what", async () => {
  const { server } = await shop();
  const text = await textAt(server, "/debug/");
  expect(text).toContain("lvm on charlie 20Gi 20Gi 20Gi – 10Gi");
  expect(text).toContain("local 7 5 5 of 7 free 250Gi");
  expect(text).toContain("1 promise, 2 Pods holding, 0 binds in progress.");
  expect(text).toMatch(/d\/ archive promised volume charlie-ssd-1 for claim d\/archive on node charlie/);
  expect(text).toMatch(/d\/ queue-0 held capacity of lvm on bravo, lvm on charlie/);
});

test("a Pod's page says the verdict, what would help, and each claim on each node, the nearest first", async () => {
  const { server, path } = await shop();
  const text = await textAt(server, path);
  expect(text).toContain("✗ None of 5 nodes can hold all its volumes.");
  expect(text).toContain("Would help: Let the largest volume of class lvm on node alpha be 100Gi instead of 60Gi");
  expect(text).toContain("kube-scheduler asked at 00:13:15\nand was told 0 of 4 nodes fit");
  const rows = text
    .slice(text.indexOf("Each claim on each node"))
    .split("\n")
    .map((row) => row.trim());
  expect(rows).toContain(
    "✗ refused alpha nearest ✗ new volume: needs 100Gi: 80Gi free of 80Gi, largest volume 60Gi ✓ alpha-ssd-1",
  );
  expect(rows).toContain(
    "✗ refused echo cordoned ✗ new volume: driver lvm.example.com is not registered on the node ✓ echo-ssd-1",
  );
  expect(rows.findIndex((row) => row.includes("alpha"))).toBeLessThan(rows.findIndex((row) => row.includes("bravo")));
});

test("a Pod that fits where kube-scheduler does not offer it is not told to be well", async () => {
  const { server } = await shop();
  const asked = makePod("cache-0", ["data-cache-0"], { uid: "u-cache" });
  expect(await textAt(server, "/debug/pods/d/cache-0")).toContain("✓ Its volumes fit on 3 of 5 nodes.");
  await askAbout(server, asked, ["delta"] as never);
  const text = await textAt(server, "/debug/pods/d/cache-0");
  expect(text).toContain("! Its volumes fit on 3 of 5 nodes, but kube-scheduler did not offer them.");
  expect(text).toContain("Not offered by kube-scheduler, though the volumes fit: alpha, bravo, echo.");
});

test("a Pod's page says what each claim could have and who has it, and which two cannot meet", async () => {
  const { server, path } = await apart();
  const text = await textAt(server, path);
  expect(text).toMatch(/data 50Gi of class local\n2 volumes would do, 1 free/);
  expect(text).toContain("taken 100Gi on n2: belongs to claim d/other");
  expect(text).toContain("data and wal cannot meet: no node reaches what both need");
  const { server: shopping } = await shop();
  expect(await textAt(shopping, "/debug/pods/d/search-0")).toContain(
    "✗ needs 300Gi, the largest free on alpha is 100Gi (alpha-ssd-1): 200Gi short",
  );
});

test("of a node that kube-scheduler does not offer it says why, and asks the API once however often it is looked at", async () => {
  const { server, path } = await pinned();
  let asked = 0;
  const { podsOn } = server;
  server.podsOn = (node) => {
    asked++;
    return podsOn(node);
  };
  const text = await textAt(server, path);
  expect(text).toContain("! Its volumes fit on 1 of 3 nodes, but kube-scheduler did not offer it.");
  expect(text).toContain("n2 bound volumes are there");
  expect(text).toContain("it is cordoned");
  expect(text).toMatch(/3 CPU short.*\s*held by d\/web \(5\), d\/batch \(2\)/);
  for (let look = 0; look < 5; look++) await server.get(path);
  expect(asked).toBe(1);
  await server.runtime.advance(31_000);
  await server.get(path);
  expect(asked).toBe(2);
});

test("where the claims are at fault and no node is, there is no matrix", async () => {
  const { server, path } = await hopeless();
  const { text } = await server.get(path);
  expect(textOf(text)).toContain('✗ No node fits: persistentvolumeclaim "reports" not found');
  expect(textOf(text)).toContain("✗ it does not exist");
  expect(text).not.toContain('id="matrix"');
});

test("a Pod that nobody knows is 404, and the page says so", async () => {
  const { server } = await shop();
  const reply = await server.get("/debug/pods/d/%3Cb%3Enobody");
  expect(reply.status).toBe(404);
  expect(reply.text).toContain("<h1>Pod d/&lt;b&gt;nobody</h1>");
});

test("not ready, every page says that it may be out of date", async () => {
  const { server, path } = await notReady();
  for (const at of ["/debug/", path]) {
    expect(await textAt(server, at)).toMatch(/not ready, so what follows may be out of date: not heard of for 150 s/i);
  }
});

test("nothing to tell is told as such", async () => {
  const { server } = empty();
  const text = await textAt(server, "/debug/");
  expect(text).toContain("None: no Pod with volumes waits.");
  expect(text).toContain("No volumes, and no capacity published.");
});

const locks = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

test.for(["/debug/", "/debug/pods/d/db-0", "/debug/pods/d/nobody", "/debug/page.css", "/debug/page.js"])(
  "%s goes out with every lock",
  async (path) => {
    const { server } = await shop();
    const { debug } = createServer(server.parts);
    const { headers } = await debug({ method: "GET", path, headers: {} }, new AbortController().signal);
    expect(headers).toMatchObject(locks);
    expect(headers["content-type"]).toMatch(/^text\/(html|css|javascript); charset=utf-8$/);
  },
);

test("/ and /debug lead to the overview, and pages take GET alone", async () => {
  const { server } = await shop();
  const { debug } = createServer(server.parts);
  for (const path of ["/", "/debug"]) {
    const reply = await debug({ method: "GET", path, headers: {} }, new AbortController().signal);
    expect([reply.status, reply.headers["location"]]).toEqual([302, "/debug/"]);
  }
  for (const path of ["/", "/debug/", "/debug/pods/d/db-0", "/debug/page.js"]) {
    expect((await server.postDebug(path, "{}")).status).toBe(405);
  }
});

test.for([
  "/debug/pods/d%2Fdb-0",
  "/debug/pods/d/db-0/",
  "/debug/pods//db-0",
  "/debug/pods/d/%",
  "/debug/pods/d/%ff",
  "/debug/pods/d",
  "/debug/page.css/x",
  "/debug/../debug/",
  "/debug//",
  "/debug/page.ts",
  "/debug/html.ts",
  "/debug/%70age.css",
  "//debug/",
])("%s is no page", async (path) => {
  const { server } = await shop();
  expect((await server.get(path)).status).toBe(404);
});

test.for([
  "/debug/pods/d/a%2Fb",
  "/debug/pods/../..",
  "/debug/pods/%2e%2e/%2e%2e",
  `/debug/pods/d/${"x".repeat(8_000)}`,
  "/debug/pods/d/__proto__",
  "/debug/pods/d/%00",
])("%s is no Pod, and its page is short", async (path) => {
  const { server } = await shop();
  const reply = await server.get(path);
  expect(reply.status).toBe(404);
  expect(reply.text).toMatch(/^<!doctype html>/);
  expect(reply.text.length).toBeLessThan(3_000);
});

test("15,000 nodes and 8 claims make a short page, with the nearest node on it", { timeout: 60_000 }, async () => {
  const { server, path } = await many(15_000, 8);
  const { text } = await server.get(path);
  expect(text.length).toBeLessThan(200_000);
  expect(text).toContain("nearest");
  expect(textOf(text)).toContain("14,000 more nodes not shown claim by claim; 0 of them fit.");
  expect((await server.get("/debug/")).text.length).toBeLessThan(100_000);
});

test("very long names make less of the page, not more bytes", async () => {
  const { server } = await longNames();
  const name = (index: number) => `${index}-${'<&>"'.repeat(60)}`;
  for (let index = 0; index < 120; index++) {
    const pod = makePod(name(index), [name(index)], { uid: `u-${index}` });
    server.add(pod, makePVC(name(index), { uid: `c-${index}`, class: `&${"<".repeat(240)}${index}` }));
    await askAbout(server, pod);
  }
  for (const path of ["/debug/", `/debug/pods/d/${encodeURIComponent(name(7))}`]) {
    const { status, text } = await server.get(path);
    expect(status).toBe(200);
    expect(text.length).toBeLessThan(512 << 10);
  }
  expect(textOf((await server.get("/debug/")).text)).toMatch(/\d+ more Pods not shown\./);
});

test("a Pod that is assigned, ended or without claims is not pending for Berth", async () => {
  const server = new TestServer().add(makeNode("n1"), makePVC("x"), makePod("no-claims", []));
  server.add(makePod("assigned", ["x"], { node: "n1", uid: "u-1" }));
  expect(await textAt(server, "/debug/")).toContain("None: no Pod with volumes waits.");
});

test("looking keeps no Pod in memory for longer than others, and changes nothing", async () => {
  const { server, path } = await shop();
  const before = [server.world.state.generation, server.world.state.reservations.generation, server.memory.size];
  for (const at of ["/debug/", path, "/debug/"]) await server.get(at);
  expect([server.world.state.generation, server.world.state.reservations.generation, server.memory.size]).toEqual(
    before,
  );
});

test.for(["/", "/debug/", "/debug/pods/d/db-0", "/debug/page.css", "/debug/page.js"])(
  "beyond loopback %s is for callers who say who they are",
  async (path) => {
    const server = new TestServer({ debugTls: { certFile: "tls.crt", keyFile: "tls.key" } });
    const { admitDebug } = createServer(server.parts);
    const admission = await admitDebug?.({ method: "GET", path, bodyBytes: 0 });
    expect(admission).toMatchObject({ kind: "refused", reply: { status: 401 } });
  },
);
