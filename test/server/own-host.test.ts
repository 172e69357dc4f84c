/** What stands on loopback is not read by a site whose name was made to point there. */
import { expect, test } from "vitest";
import { defaults } from "../../src/config.ts";
import { TestServer } from "./support.ts";

const askedAs = async (host: string | undefined, path: string, server = new TestServer()): Promise<number> =>
  (await server.get(path, host === undefined ? {} : { host })).status;

test.for(["localhost", "localhost:10291", "127.0.0.1:10291", "[::1]:10291", "10.0.0.7", "LOCALHOST:1", undefined])(
  "asked for as %s, pages and explanations answer",
  async (host) => {
    expect(await askedAs(host, "/debug/")).toBe(200);
    expect(await askedAs(host, "/debug/state")).toBe(200);
  },
);

test.for([
  "rebind.example:10291",
  "127.0.0.1.nip.example",
  "localhost.example",
  "1.2.3.4.5",
  "",
  "localhost:10291:x",
  "[evil]",
])("asked for as %j, nothing that names objects answers", async (host) => {
  for (const path of ["/", "/debug/", "/debug/page.js", "/debug/pods/d/p", "/debug/state", "/debug/explain/d/p"]) {
    expect(await askedAs(host, path)).toBe(421);
  }
  for (const path of ["/metrics", "/livez", "/readyz?verbose"]) expect(await askedAs(host, path)).toBe(200);
});

test("beyond loopback the name is anybody's choice: callers say who they are, or the configuration says that nobody need", async () => {
  const debugListen = { host: "0.0.0.0", port: 10_291 };
  expect(await askedAs("berth.example", "/debug/", new TestServer({ debugListen }))).toBe(200);
  const debugTls = { certFile: "tls.crt", keyFile: "tls.key" };
  expect(await askedAs("berth.example", "/debug/", new TestServer({ debugTls }))).toBe(200);
  expect(defaults.debugListen.host).toBe("127.0.0.1");
});
