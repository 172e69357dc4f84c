/**
 * Traces through OpenTelemetry's own SDK, which is loaded only where they are wanted. Where they go, and how many, is said in the
 * environment: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES and so on.
 *
 * @see opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables
 */
import type { Context, Span as OtelSpan, Tracer } from "@opentelemetry/api";
import type { Log } from "../runtime/log.ts";
import type { Span, SpanFields, Tracing } from "../runtime/tracing.ts";
import { Misuse } from "./arguments.ts";

export interface RunningTracing extends Tracing {
  /** Sends what is left, within the exporter's own time. Never rejects. */
  stop(): Promise<void>;
}

/** OTLP over HTTP with JSON: what is left of three protocols where a gRPC client is too much for this. */
const protocol = "http/json";

/** @throws Misuse where the packages are not installed, or the environment asks for another protocol */
export async function startTracing({
  log,
  version,
  env,
}: {
  readonly log: Log;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}): Promise<RunningTracing> {
  const asked = env["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] ?? env["OTEL_EXPORTER_OTLP_PROTOCOL"] ?? protocol;
  if (asked !== protocol)
    throw new Misuse(`traces are sent as ${protocol}, which every collector takes on port 4318: not as ${asked}`);
  const { api, core, base, resources, otlp } = await load();
  const logger = (message: string): void => log.warn({ error: message }, "OpenTelemetry has a problem");
  api.diag.setLogger(
    { error: logger, warn: logger, info: () => {}, debug: () => {}, verbose: () => {} },
    { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const named = resources.resourceFromAttributes({ "service.name": "berth", "service.version": version });
  const detected = resources.detectResources({ detectors: [resources.envDetector] });
  const provider = new base.BasicTracerProvider({
    resource: resources.defaultResource().merge(named).merge(detected),
    spanProcessors: [new base.BatchSpanProcessor(new otlp.OTLPTraceExporter())],
  });
  const tracer = provider.getTracer("berth", version);
  const propagator = new core.W3CTraceContextPropagator();
  return {
    start: (name, headers) => {
      const parent = propagator.extract(api.ROOT_CONTEXT, headers, api.defaultTextMapGetter);
      return spanOf(api, tracer, tracer.startSpan(name, { kind: api.SpanKind.SERVER }, parent), parent);
    },
    stop: async () => {
      await provider.shutdown().catch((err: unknown) => log.warn({ err }, "Could not send the last traces"));
      api.diag.disable();
    },
  };
}

type Api = typeof import("@opentelemetry/api");

async function load() {
  try {
    const [api, core, base, resources, otlp] = await Promise.all([
      import("@opentelemetry/api"),
      import("@opentelemetry/core"),
      import("@opentelemetry/sdk-trace-base"),
      import("@opentelemetry/resources"),
      import("@opentelemetry/exporter-trace-otlp-http"),
    ]);
    return { api, core, base, resources, otlp };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Misuse("tracing is true, and OpenTelemetry is not installed: install Berth with its optional packages");
  }
}

function spanOf(api: Api, tracer: Tracer, span: OtelSpan, above: Context): Span {
  const context = api.trace.setSpan(above, span);
  return {
    child: (name) => spanOf(api, tracer, tracer.startSpan(name, {}, context), context),
    set: (fields) => span.setAttributes(attributesOf(fields)),
    fail: (message) => span.setStatus({ code: api.SpanStatusCode.ERROR, message }),
    end: () => span.end(),
  };
}

/** Names by OpenTelemetry's conventions for Kubernetes, where they have one. */
const conventional: Readonly<Record<string, string>> = { podUid: "k8s.pod.uid", node: "k8s.node.name" };

function attributesOf(fields: SpanFields): Record<string, string | number | boolean> {
  const attributes: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (name === "pod" && typeof value === "string") {
      const slash = value.indexOf("/");
      attributes["k8s.namespace.name"] = value.slice(0, slash);
      attributes["k8s.pod.name"] = value.slice(slash + 1);
    } else if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
      attributes[conventional[name] ?? `berth.${name}`] = value;
    }
  }
  return attributes;
}
