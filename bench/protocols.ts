/**
 * `npm run bench -- protocols`: kube-scheduler's own extender client over plain HTTP/1.1, HTTP/1.1 with TLS and client certificates, and
 * HTTP/2 with the same. The servers are fastify with the same handlers; what they cost is this process's CPU.
 */
import { mkdtempSync, rmSync } from "node:fs";
import type { Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fastify, { type FastifyInstance } from "fastify";
import type { TlsMaterial } from "../src/http/tls-files.ts";
import type { ExtenderClient, Order } from "../test/control-plane/extender-client.ts";
import { Authority, type TlsFiles, writePair } from "../test/support/certificates.ts";
import type { Budget } from "./measure.ts";

const protocols = ["plain 1.1", "TLS 1.1", "TLS 2"] as const;
type Protocol = (typeof protocols)[number];

interface Case {
  readonly name: string;
  readonly order: Omit<Order, "URLPrefix" | "TLS">;
}

/** What one protocol has shown in one case, over all rounds. */
export interface Shown {
  readonly case: string;
  readonly protocol: Protocol;
  /** As the server sees it. */
  readonly versions: ReadonlySet<string>;
  readonly calls: number;
  readonly failed: number;
  readonly firstError: string;
  readonly connections: number;
  /** Of a call; the middle round's. */
  readonly p50Ms: number;
  readonly serverCpuMs: number;
  readonly clientCpuMs: number;
}

export interface ProtocolsOptions {
  readonly rounds: number;
  /** Calls of each case, as a share of the whole size. */
  readonly share: number;
}

const casesOf = (share: number): readonly Case[] => [
  { name: "filter, 100 names", order: { Verb: "filter", Calls: 1_000 * share, InParallel: 1, Nodes: 100 } },
  { name: "filter, 5,000 names", order: { Verb: "filter", Calls: 150 * share, InParallel: 1, Nodes: 5_000 } },
  { name: "bind, one at a time", order: { Verb: "bind", Calls: 100 * share, InParallel: 1 } },
  { name: "bind, 16 at a time", order: { Verb: "bind", Calls: 2_000 * share, InParallel: 16 } },
];

/** As short as a bind can be with a fast API server. */
const bindMs = 5;

export async function runProtocols(client: ExtenderClient, { rounds, share }: ProtocolsOptions): Promise<Shown[]> {
  const folder = mkdtempSync(join(tmpdir(), "berth-protocols-"));
  try {
    const authority = await Authority.make();
    const server = await authority.issue({ name: "berth" });
    const files = writePair(folder, await authority.issue({ name: "scheduler" }), authority.cert);
    const tls = { ...server, ca: authority.cert };
    const shown: Shown[] = [];
    for (let round = 0; round < rounds; round++) {
      // They take turns, so that a slow moment hits all of them.
      for (const one of casesOf(share)) {
        for (const protocol of protocols) shown.push(await runOne(client, one, protocol, tls, files));
      }
    }
    return casesOf(share).flatMap(({ name }) =>
      protocols.map((protocol) => together(shown.filter((one) => one.case === name && one.protocol === protocol))),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function runOne(
  client: ExtenderClient,
  { name, order }: Case,
  protocol: Protocol,
  tls: TlsMaterial,
  { certFile, keyFile, clientCAFile }: TlsFiles,
): Promise<Shown> {
  const app = applicationOf(protocol, tls);
  const versions = new Set<string>();
  let connections = 0;
  const server = app.server as Server;
  server.on("connection", () => connections++);
  app.addHook("onRequest", async ({ raw }) => void versions.add(raw.httpVersion));
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = server.address() as { port: number };
  const isPlain = protocol === "plain 1.1";
  const before = process.cpuUsage();
  const { failed, firstError, p50Ms, cpuMs } = await client({
    ...order,
    URLPrefix: `${isPlain ? "http" : "https"}://127.0.0.1:${port}/v1`,
    ...(!isPlain && { TLS: { CAFile: clientCAFile, CertFile: certFile, KeyFile: keyFile } }),
  });
  const { user, system } = process.cpuUsage(before);
  await app.close();
  return {
    case: name,
    protocol,
    versions,
    calls: order.Calls,
    failed,
    firstError,
    connections,
    p50Ms,
    serverCpuMs: (user + system) / 1_000 / order.Calls,
    clientCpuMs: cpuMs / order.Calls,
  };
}

function applicationOf(protocol: Protocol, tls: TlsMaterial): FastifyInstance {
  const shared = { logger: false, bodyLimit: 64 << 20, keepAliveTimeout: 120_000, forceCloseConnections: true };
  const https = { ...tls, requestCert: true };
  const app = (protocol === "plain 1.1"
    ? fastify(shared)
    : protocol === "TLS 1.1"
      ? fastify({ ...shared, https })
      : fastify({ ...shared, http2: true, https: { ...https, allowHTTP1: true } })) as unknown as FastifyInstance;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  app.post("/v1/filter", async (request, reply) => {
    const { NodeNames } = JSON.parse(String(request.body)) as { NodeNames: readonly string[] };
    const answer = JSON.stringify({ NodeNames, FailedNodes: {}, FailedAndUnresolvableNodes: {}, Error: "" });
    return reply.header("content-type", "application/json").send(Buffer.from(answer));
  });
  app.post("/v1/bind", async (_request, reply) => {
    await new Promise((resolve) => setTimeout(resolve, bindMs));
    return reply.header("content-type", "application/json").send(Buffer.from('{"Error":""}'));
  });
  return app;
}

function together(rounds: readonly Shown[]): Shown {
  const [first] = rounds;
  if (!first) throw new Error("no round was run");
  const sum = (of: (one: Shown) => number): number => rounds.reduce((total, one) => total + of(one), 0);
  const middle = (of: (one: Shown) => number): number =>
    rounds.map(of).toSorted((a, b) => a - b)[rounds.length >> 1] ?? Number.NaN;
  return {
    ...first,
    firstError: rounds.find(({ failed }) => failed > 0)?.firstError ?? "",
    calls: sum(({ calls }) => calls),
    failed: sum(({ failed }) => failed),
    connections: sum(({ connections }) => connections),
    p50Ms: middle(({ p50Ms }) => p50Ms),
    serverCpuMs: middle(({ serverCpuMs }) => serverCpuMs),
    clientCpuMs: middle(({ clientCpuMs }) => clientCpuMs),
  };
}

/** What Berth's choice of HTTP/1.1 stands on. */
export function protocolsBudgets(shown: readonly Shown[]): Budget[] {
  const failed = shown.filter(({ protocol }) => protocol !== "TLS 2").reduce((sum, one) => sum + one.failed, 0);
  const names = [...new Set(shown.map((one) => one.case))].filter((name) => name.startsWith("filter"));
  const cpu = (name: string, protocol: Protocol): number =>
    shown.find((one) => one.case === name && one.protocol === protocol)?.serverCpuMs ?? Number.NaN;
  return [
    { name: "calls that failed over HTTP/1.1", is: failed, max: 0, unit: "" },
    ...names.map((name): Budget => {
      const is = cpu(name, "TLS 1.1") / cpu(name, "TLS 2");
      return { name: `${name}: the server's CPU over HTTP/1.1 with TLS, against HTTP/2`, is, max: 1, unit: "×" };
    }),
  ];
}

/** Ratios are to HTTP/1.1 with TLS in the same run. */
export function protocolsTable(shown: readonly Shown[]): string {
  const line = (cells: readonly string[]): string =>
    cells.map((cell, nth) => (nth === 0 ? cell.padEnd(22) : cell.padStart(13))).join("");
  const head = line(["", "protocol", "p50", "server CPU", "client CPU", "connections", "calls", "failed"]);
  const rows = shown.map((one) => {
    const base = shown.find((other) => other.case === one.case && other.protocol === "TLS 1.1") ?? one;
    const times = (of: (of: Shown) => number): string => `${(of(one) / of(base)).toFixed(2)} ×`;
    const ratios = [times((of) => of.p50Ms), times((of) => of.serverCpuMs), times((of) => of.clientCpuMs)];
    const counts = [one.connections, one.calls, one.failed].map(String);
    return line([one.case, one.protocol, ...ratios, ...counts]);
  });
  const errors = shown.filter(({ failed }) => failed > 0).map((one) => `${one.protocol}: ${one.firstError}`);
  return `${[head, ...rows, ...new Set(errors)].join("\n")}\n`;
}
