/** An extender that answers as a test says and remembers what it was asked: the one beside Berth. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Raw } from "../support/make.ts";

export interface Call {
  readonly verb: string;
  /** Name of the Pod. */
  readonly pod: string;
  readonly nodes: readonly string[];
  readonly answer: unknown;
  /** The request as it came. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** A body, or its text as it is; a number is a status without one. */
type Answer = Raw | readonly Raw[] | string | number;
type Handler = (nodes: readonly string[], body: string) => Answer | Promise<Answer>;
type Verb = "filter" | "prioritize" | "preempt" | "bind";

export type Script = Partial<Record<Verb, Handler>>;

export interface Extender {
  readonly calls: readonly Call[];
  readonly url: string;
  /** What it answers from now on. */
  script: Script;
  /** For KubeSchedulerConfiguration's extenders: the verbs that the script had at first. */
  entry(more?: Raw): Raw;
  close(): void;
}

export async function startExtender(first: Script): Promise<Extender> {
  const calls: Call[] = [];
  const server = createServer(async (request, response) => {
    const verb = (request.url ?? "").slice(1);
    const body = await textOf(request);
    const { Pod, NodeNames, PodName, NodeNameToMetaVictims } = JSON.parse(body) as Asked;
    const nodes = NodeNames ?? Object.keys(NodeNameToMetaVictims ?? {});
    const handler = extender.script[verb as Verb];
    const answer = handler ? await handler(nodes, body) : 404;
    const { headers } = request;
    calls.push({ verb, pod: Pod?.metadata.name ?? PodName ?? "", nodes, answer, headers, body });
    response.writeHead(typeof answer === "number" ? answer : 200, { "content-type": "application/json" });
    response.end(typeof answer === "number" ? "" : typeof answer === "string" ? answer : JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const extender: Extender = {
    calls,
    url,
    script: first,
    entry: (more = {}) => ({
      urlPrefix: url,
      nodeCacheCapable: true,
      ignorable: false,
      httpTimeout: "5s",
      ...(first.filter && { filterVerb: "filter" }),
      ...(first.prioritize && { prioritizeVerb: "prioritize", weight: 1 }),
      ...(first.preempt && { preemptVerb: "preempt" }),
      ...(first.bind && { bindVerb: "bind" }),
      ...more,
    }),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return extender;
}

interface Asked {
  readonly Pod?: { readonly metadata: { readonly name: string } };
  readonly NodeNames?: readonly string[] | null;
  readonly PodName?: string;
  readonly NodeNameToMetaVictims?: Readonly<Record<string, unknown>>;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString("utf8");
}

/** A filter that lets these pass of what it is offered, and refuses the others in a way that preemption might cure. */
export function accepts(...wanted: readonly string[]): Handler {
  return (nodes) => {
    const refused = nodes.filter((node) => !wanted.includes(node));
    return {
      NodeNames: nodes.filter((node) => wanted.includes(node)),
      FailedNodes: Object.fromEntries(refused.map((node) => [node, "the shelf is full"])),
    };
  };
}

/** 10 for this node, 0 for every other. */
export function prefers(wanted: string): Handler {
  return (nodes) => nodes.map((Host) => ({ Host, Score: Host === wanted ? 10 : 0 }));
}

export function answers(answer: Answer): Handler {
  return () => answer;
}
