/** Traces, as a collector gets them over OTLP/HTTP from `berth serve`. */
import { execFile } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { startTracing } from "../../src/cli/tracing.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { serveSandbox, until } from "./stage.ts";

interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: number;
}

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly { readonly key: string; readonly value: OtlpValue }[];
  readonly status: { readonly code?: number; readonly message?: string };
}

interface OtlpBody {
  readonly resourceSpans: readonly {
    readonly resource: Pick<OtlpSpan, "attributes">;
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

class Collector {
  readonly spans: OtlpSpan[] = [];
  readonly paths = new Set<string>();
  resource: Record<string, unknown> = {};
  readonly #server = createServer(async (request, reply) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    this.paths.add(`${request.url} ${request.headers["content-type"]}`);
    for (const { resource, scopeSpans } of (JSON.parse(body) as OtlpBody).resourceSpans) {
      this.resource = attributesOf(resource);
      this.spans.push(...scopeSpans.flatMap(({ spans }) => spans));
    }
    reply.setHeader("content-type", "application/json").end("{}");
  });

  async start(): Promise<string> {
    await new Promise<void>((settle) => this.#server.listen(0, "127.0.0.1", settle));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** From the one that has no parent here to the span itself. */
  path(span: OtlpSpan): string {
    const parent = this.spans.find(({ spanId }) => spanId === span.parentSpanId);
    return parent ? `${this.path(parent)} > ${span.name}` : span.name;
  }
}

function attributesOf({ attributes }: Pick<OtlpSpan, "attributes">): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}

test("a collector gets a span for each call, and of a bind its phases and writes; a caller's traceparent is gone on from", async () => {
  const collector = new Collector();
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", await collector.start());
  vi.stubEnv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test");
  onTestFinished(() => {
    collector.stop();
    vi.unstubAllEnvs();
  });
  const served = await serveSandbox("tracing: true\n");
  await served.apply("00-cluster", "10-classes", "20-disks", "30-database", "40-exact");
  await until("the Pods are placed", async () => (await served.placed()) === 4);
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  await fetch(`${served.extender}/v1/filter`, {
    method: "POST",
    headers: { traceparent, "content-type": "application/json" },
    body: "nonsense",
  });
  await served.stop();

  expect([...collector.paths]).toEqual(["/v1/traces application/json"]);
  expect(collector.resource).toMatchObject({ "service.name": "berth", "deployment.environment.name": "test" });
  const paths = new Set(collector.spans.map((span) => collector.path(span)));
  for (const path of [
    "filter",
    "prioritize",
    "bind > bind run > queued",
    "bind > bind run > checking",
    "bind > bind run > writing > write claimRef",
    "bind > bind run > waiting",
    "bind > bind run > binding > write binding",
  ])
    expect([...paths]).toContain(path);
  const bind = collector.spans.find((span) => span.name === "bind" && attributesOf(span)["k8s.pod.name"] === "archive");
  expect(bind && attributesOf(bind)).toMatchObject({
    "k8s.namespace.name": "default",
    "k8s.node.name": "delta",
    "berth.outcome": "bound",
  });
  const foreign = collector.spans.find(({ traceId }) => traceId === "4bf92f3577b34da6a3ce929d0e0e4736");
  expect(foreign).toMatchObject({ name: "filter", parentSpanId: "00f067aa0ba902b7", status: { code: 2 } });
});

const run = promisify(execFile);

/** What `berth serve` with tracing, which ends before it reaches out, leaves behind. */
async function refusal(...before: string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "berth-traces-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [config, kubeconfig] = [join(folder, "berth.yaml"), join(folder, "kubeconfig")];
  writeFileSync(config, "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\ntracing: true\n");
  const cluster = { name: "c", cluster: { server: "http://127.0.0.1:1" } };
  const context = { name: "c", context: { cluster: "c", user: "" } };
  writeFileSync(kubeconfig, JSON.stringify({ clusters: [cluster], contexts: [context], "current-context": "c" }));
  const argv = [...before, "src/main.ts", "serve", "--config", config, "--kubeconfig", kubeconfig];
  const failed = await run(process.execPath, argv).catch((error) => error);
  return `${failed.code} ${failed.stderr}`;
}

test("without the packages tracing is refused in one line that says what to install", async () => {
  const hide = `import { registerHooks } from "node:module";
    registerHooks({ resolve(name, context, next) {
      if (name.startsWith("@opentelemetry/sdk")) throw Object.assign(new Error(name), { code: "ERR_MODULE_NOT_FOUND" });
      return next(name, context);
    } });`;
  const said = await refusal("--import", `data:text/javascript,${encodeURIComponent(hide)}`);
  expect(said).toMatch(/^2 .*tracing is true, and OpenTelemetry is not installed: .*optional packages\n$/);
});

test("a protocol that Berth does not speak is refused", async () => {
  const env = { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" };
  const refused = startTracing({ log: silentLog, version: "1", env });
  await expect(refused).rejects.toThrow(/traces are sent as http\/json.*not as grpc$/);
});

test("OpenTelemetry is known to one file, which loads it when it is asked to", () => {
  const knowing = globSync("src/**/*.ts").filter((path) => readFileSync(path, "utf8").includes("@opentelemetry/"));
  expect(knowing).toEqual(["src/cli/tracing.ts"]);
  const statements = readFileSync("src/cli/tracing.ts", "utf8").match(/^import .*@opentelemetry.*$/gm) ?? [];
  expect(statements.filter((statement) => !statement.startsWith("import type"))).toEqual([]);
});
