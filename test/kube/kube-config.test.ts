/** Where the API server is found, in which order, and what people are told where it is not. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Connecting, findConnection } from "../../src/kube/kube-config.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "berth-kube-config-"));
});
afterEach(() => rmSync(home, { recursive: true }));

const base64 = (text: string): string => Buffer.from(text).toString("base64");

interface Facts {
  readonly server?: string;
  readonly cluster?: string;
  readonly user?: string;
  readonly current?: string;
}

const config = ({ server = "https://10.0.0.1:6443", cluster = "", user = "", current = "c" }: Facts = {}): string => `
apiVersion: v1
kind: Config
current-context: ${current}
clusters: [{ name: k, cluster: { server: "${server}"${cluster} } }]
users: [{ name: u, user: { ${user} } }]
contexts: [{ name: c, context: { cluster: k, user: u } }, { name: other, context: { cluster: k } }]
`;

const write = (name: string, text: string): string => {
  const path = join(home, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  return path;
};

const mount = (): string => {
  write("mounted/token", "t\n");
  write("mounted/ca.crt", "CA");
  return join(home, "mounted");
};

const serverOf = (found: Connecting): string => (found.ok ? `${found.source} ${found.connection.server}` : found.error);

test("the flag goes first, then the Pod's account, then KUBECONFIG, then the home directory", async () => {
  const flag = write("flag", config({ server: "https://flag:1" }));
  const listed = write("listed", config({ server: "https://listed:2" }));
  const own = write(".kube/config", config({ server: "https://own:3" }));
  const serviceAccountDirectory = mount();
  const env = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443", KUBECONFIG: listed, HOME: home };
  const outside = { KUBECONFIG: listed, HOME: home };
  expect(serverOf(await findConnection({ flag, env, serviceAccountDirectory }))).toBe("--kubeconfig https://flag:1");
  expect(serverOf(await findConnection({ env, serviceAccountDirectory }))).toBe(
    "service account https://10.96.0.1:443",
  );
  expect(serverOf(await findConnection({ env: outside, serviceAccountDirectory }))).toBe("KUBECONFIG https://listed:2");
  expect(serverOf(await findConnection({ env: { HOME: home } }))).toBe(`${own} https://own:3`);
});

test("a Pod's token is read from its file, for it rotates, and IPv6 gets its brackets", async () => {
  const directory = mount();
  const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
  expect(await findConnection({ env, serviceAccountDirectory: directory })).toMatchObject({
    ok: true,
    connection: {
      server: "https://[fd00::1]:443",
      ca: Buffer.from("CA"),
      credentials: { kind: "tokenFile", path: join(directory, "token") },
    },
  });
});

const files: Record<string, { facts: Facts; want: object }> = {
  "certificates as data": {
    facts: {
      cluster: `, certificate-authority-data: ${base64("CA")}, tls-server-name: kube`,
      user: `client-certificate-data: ${base64("CERT")}, client-key-data: ${base64("KEY")}`,
    },
    want: {
      ca: Buffer.from("CA"),
      cert: Buffer.from("CERT"),
      key: Buffer.from("KEY"),
      serverName: "kube",
      credentials: { kind: "none" },
    },
  },
  "certificates as files beside it": {
    facts: { cluster: ", certificate-authority: ca.pem" },
    want: { ca: Buffer.from("CA FILE") },
  },
  "a token": { facts: { user: 'token: "t "' }, want: { credentials: { kind: "token", token: "t" } } },
  "a name and a password": {
    facts: { user: "username: u, password: p" },
    want: { credentials: { kind: "basic", username: "u", password: "p" } },
  },
  "whom to impersonate": { facts: { user: "as: berth" }, want: { headers: { "impersonate-user": "berth" } } },
  "no check of certificates": { facts: { cluster: ", insecure-skip-tls-verify: true" }, want: { insecure: true } },
  "a user that is not needed": { facts: { current: "other" }, want: { credentials: { kind: "none" } } },
};

test.for(Object.entries(files))("a kubeconfig: %s", async ([, { facts, want }]) => {
  write("ca.pem", "CA FILE");
  const flag = write("config", config(facts));
  expect(await findConnection({ flag, env: {} })).toMatchObject({ ok: true, connection: want });
});

test("a token file beside a kubeconfig is followed, not read once", async () => {
  const flag = write("config", config({ user: "tokenFile: token, token: old" }));
  expect(await findConnection({ flag, env: {} })).toMatchObject({
    connection: { credentials: { kind: "tokenFile", path: join(home, "token") } },
  });
});

test("a plugin is asked for the token", async () => {
  const plugin = `process.stdout.write(JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status: { token: "asked" } }))`;
  const script = write("plugin.cjs", plugin);
  const user = `exec: { apiVersion: client.authentication.k8s.io/v1, command: "${process.execPath}", args: ["${script}"] }`;
  const found = await findConnection({ flag: write("config", config({ user })), env: {} });
  if (!found.ok || found.connection.credentials.kind !== "ask") throw new Error("no plugin");
  expect(await found.connection.credentials.authorization()).toBe("Bearer asked");
});

test("another context can be chosen", async () => {
  const flag = write("config", config({ current: "nowhere", user: "token: t" }));
  expect(await findConnection({ flag, context: "c", env: {} })).toMatchObject({
    connection: { credentials: { kind: "token" } },
  });
});

test("files of KUBECONFIG are merged, and those that are missing passed over", async () => {
  const first = write(
    "first",
    "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{ name: c, context: { cluster: k, user: u } }]\n",
  );
  const second = write(
    "second",
    "apiVersion: v1\nkind: Config\nclusters: [{ name: k, cluster: { server: 'https://k:6443' } }]\nusers: [{ name: u, user: { token: t } }]\n",
  );
  const found = await findConnection({ env: { KUBECONFIG: `${first}:${home}/missing:${second}` } });
  expect(found).toMatchObject({ connection: { server: "https://k:6443", credentials: { kind: "token", token: "t" } } });
});

const problems: Record<string, { make: () => Parameters<typeof findConnection>[0]; want: RegExp }> = {
  "nothing anywhere": {
    make: () => ({ env: { HOME: home } }),
    want: /^no API server is known; give --kubeconfig FILE/,
  },
  "a flag to nowhere": {
    make: () => ({ flag: "/nowhere/config", env: {} }),
    want: /^--kubeconfig: \/nowhere\/config cannot be read .*ENOENT.*correct it/,
  },
  "KUBECONFIG to nowhere": {
    make: () => ({ env: { KUBECONFIG: "/nowhere/a:/nowhere/b" } }),
    want: /^KUBECONFIG names \/nowhere\/a, \/nowhere\/b, which does not exist/,
  },
  "a file that is no YAML": { make: () => ({ flag: write("config", "{{{"), env: {} }), want: /cannot be read/ },
  "an empty file": { make: () => ({ flag: write("config", ""), env: {} }), want: /config/ },
  "a context that is nowhere": {
    make: () => ({ flag: write("config", config({ current: "x" })), env: {} }),
    want: /context "x" names no cluster; choose one with --context/,
  },
  "a server that is no URL": {
    make: () => ({ flag: write("config", config({ server: "over there" })), env: {} }),
    want: /"over there" .* is no URL/,
  },
  "a server behind a proxy": {
    make: () => ({ flag: write("config", config({ cluster: ", proxy-url: 'http://p'" })), env: {} }),
    want: /proxy-url/,
  },
  "a certificate file that is missing": {
    make: () => ({ flag: write("config", config({ cluster: ", certificate-authority: gone.pem" })), env: {} }),
    want: /gone\.pem/,
  },
  "a service account without its certificate": {
    make: () => {
      const serviceAccountDirectory = mount();
      rmSync(join(serviceAccountDirectory, "ca.crt"));
      return { env: { KUBERNETES_SERVICE_HOST: "h", KUBERNETES_SERVICE_PORT: "1" }, serviceAccountDirectory };
    },
    want: /ca\.crt.*mount it/,
  },
};

test.for(Object.entries(problems))("one line says what to do: %s", async ([, { make, want }]) => {
  const found = await findConnection(make());
  expect(found.ok ? "found" : found.error).toMatch(want);
  expect(!found.ok && found.error.includes("\n")).toBe(false);
});
