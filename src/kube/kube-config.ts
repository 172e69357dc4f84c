/**
 * Which API server, and as whom: the flag, the Pod's own service account, KUBECONFIG, ~/.kube/config, in this order.
 *
 * Reading kubeconfig files is left to @kubernetes/client-node, imported only then: it costs 75 MB, and a Pod needs none of it.
 */
import { existsSync, readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import type { KubeConfig, User } from "@kubernetes/client-node";
import type { Connection, Credentials } from "./connection.ts";

export type Connecting =
  | {
      readonly ok: true;
      readonly connection: Connection /** Where it was found, for the log. */;
      readonly source: string;
    }
  /** One line that says what to do. */
  | { readonly ok: false; readonly error: string };

export interface ConnectingOptions {
  /** Value of --kubeconfig. */
  readonly flag?: string;
  /** Value of --context; the file's current one otherwise. */
  readonly context?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where a Pod's service account is mounted. */
  readonly serviceAccountDirectory?: string;
}

const mounted = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Never rejects. */
export async function findConnection(options: ConnectingOptions): Promise<Connecting> {
  const { flag, env } = options;
  if (flag !== undefined && flag !== "") return readFiles([flag], options.context, "--kubeconfig");

  const directory = options.serviceAccountDirectory ?? mounted;
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (host && port && existsSync(join(directory, "token"))) return inCluster(host, port, directory);

  const listed = (env["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "");
  if (listed.length > 0) {
    // As kubectl: files of the list may be missing, but not all.
    const found = listed.filter((path) => existsSync(path));
    if (found.length > 0) return readFiles(found, options.context, "KUBECONFIG");
    return failed(`KUBECONFIG names ${listed.join(", ")}, which does not exist; correct it or unset it`);
  }
  const home = env["HOME"] ? join(env["HOME"], ".kube", "config") : undefined;
  if (home !== undefined && existsSync(home)) return readFiles([home], options.context, home);
  return failed(
    "no API server is known; give --kubeconfig FILE, set KUBECONFIG, or run in a Pod with a service account",
  );
}

function inCluster(host: string, port: string, directory: string): Connecting {
  try {
    const connection: Connection = {
      server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
      ca: readFileSync(join(directory, "ca.crt")),
      credentials: { kind: "tokenFile", path: join(directory, "token") },
    };
    return { ok: true, connection, source: "service account" };
  } catch (problem) {
    return failed(
      `the service account in ${directory} cannot be read (${textOf(problem)}); mount it, or give --kubeconfig FILE`,
    );
  }
}

async function readFiles(paths: readonly string[], context: string | undefined, source: string): Promise<Connecting> {
  try {
    const { KubeConfig: Config, loadYaml } = await import("@kubernetes/client-node");
    const config = new Config();
    const tokenFiles = new Map<string, string>();
    for (const [index, path] of paths.entries()) {
      const one = new Config();
      one.loadFromFile(path);
      if (index === 0) config.loadFromFile(path);
      else config.mergeConfig(one, true);
      for (const [user, file] of tokenFilesIn(loadYaml(readFileSync(path, "utf8")), dirname(path))) {
        if (!tokenFiles.has(user)) tokenFiles.set(user, file);
      }
    }
    if (context !== undefined) config.setCurrentContext(context);
    return toConnection(config, tokenFiles, source);
  } catch (problem) {
    return failed(
      `${source}: ${paths.join(", ")} cannot be read (${textOf(problem)}); correct it or name another with --kubeconfig FILE`,
    );
  }
}

function toConnection(config: KubeConfig, tokenFiles: ReadonlyMap<string, string>, source: string): Connecting {
  const name = config.getCurrentContext();
  const cluster = config.getCurrentCluster();
  if (!cluster)
    return failed(
      `${source}: ${name ? `context "${name}" names no cluster` : "no context is current"}; choose one with --context`,
    );
  if (cluster.proxyUrl)
    return failed(`${source}: proxy-url of cluster "${cluster.name}" is not supported; name the server itself`);
  if (!URL.canParse(cluster.server))
    return failed(`${source}: server "${cluster.server}" of cluster "${cluster.name}" is no URL; correct it`);
  const user = config.getCurrentUser();
  const [ca, cert, key] = [
    pem(cluster.caFile, cluster.caData),
    pem(user?.certFile, user?.certData),
    pem(user?.keyFile, user?.keyData),
  ];
  const connection: Connection = {
    server: cluster.server,
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(cluster.tlsServerName && { serverName: cluster.tlsServerName }),
    ...(cluster.skipTLSVerify && { insecure: true }),
    credentials: user ? credentialsOf(config, user, tokenFiles.get(user.name)) : { kind: "none" },
    ...(user?.impersonateUser && { headers: { "impersonate-user": user.impersonateUser } }),
  };
  return { ok: true, connection, source };
}

function credentialsOf(config: KubeConfig, user: User, tokenFile: string | undefined): Credentials {
  // As client-go: the file, which rotates, goes before the text.
  if (tokenFile !== undefined) return { kind: "tokenFile", path: tokenFile };
  if (user.token) return { kind: "token", token: user.token.trim() };
  if (user.exec || user.authProvider) return { kind: "ask", authorization: () => askPlugin(config) };
  if (user.username) return { kind: "basic", username: user.username, password: user.password ?? "" };
  return { kind: "none" };
}

/** client-node runs the plugin and keeps its token until it expires. */
async function askPlugin(config: KubeConfig): Promise<string | undefined> {
  const options: { headers: Record<string, string> } = { headers: {} };
  await config.applyToHTTPSOptions(options);
  return options.headers["Authorization"];
}

function pem(file: string | undefined, data: string | undefined): Buffer | undefined {
  if (data) return Buffer.from(data, "base64");
  return file ? readFileSync(file) : undefined;
}

/** `users[].user.tokenFile`, which client-node does not read. */
function tokenFilesIn(document: unknown, directory: string): [string, string][] {
  const users = (document as { users?: unknown } | null)?.users;
  if (!Array.isArray(users)) return [];
  return (users as readonly unknown[]).flatMap((entry): [string, string][] => {
    const { name, user } = (entry ?? {}) as { name?: unknown; user?: { tokenFile?: unknown } | null };
    const file = user?.tokenFile;
    if (typeof name !== "string" || typeof file !== "string" || file === "") return [];
    return [[name, isAbsolute(file) ? file : join(directory, file)]];
  });
}

function failed(error: string): Connecting {
  return { ok: false, error: error.replace(/\s+/g, " ") };
}

function textOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}
