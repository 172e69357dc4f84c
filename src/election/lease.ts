/**
 * A Lease of coordination.k8s.io/v1 as Berth reads and writes it. What others put on the object, labels and unknown fields
 * included, is written back as it was read.
 */
import type { Milliseconds } from "../runtime/runtime.ts";

export interface Lease {
  /** As read or as the write was answered: the next write stands on its resourceVersion. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** "" where nobody holds it. */
  readonly holder: string;
  /** How long the holder asks others to wait after its last renewal; undefined where it says nothing usable. */
  readonly durationMs: Milliseconds | undefined;
  /** As text: it says which renewal this is, and nothing about when. */
  readonly renewTime: string | undefined;
  /** Differs after every renewal. */
  readonly mark: string;
}

/** What a holder writes of itself. */
export interface Holding {
  readonly holder: string;
  readonly durationMs: Milliseconds;
  /** Since 1970, for people: nobody decides by it. */
  readonly wallTimeMs: Milliseconds;
}

/** A holder that asks for more is taken to have made a mistake, and would otherwise never be followed. */
const durationMaxMs: Milliseconds = 3_600_000;

/** @see kubernetes staging/src/k8s.io/api/coordination/v1/types.go, LeaseSpec */
const transitionsMax = 2 ** 31 - 1;

/** undefined for what is no Lease. */
export function readLease(body: unknown): Lease | undefined {
  if (!isObject(body)) return undefined;
  const spec = isObject(body["spec"]) ? body["spec"] : {};
  const { holderIdentity, leaseDurationSeconds, renewTime } = spec;
  const durationMs = typeof leaseDurationSeconds === "number" ? leaseDurationSeconds * 1000 : 0;
  return {
    raw: body,
    holder: typeof holderIdentity === "string" ? holderIdentity : "",
    durationMs: durationMs > 0 && durationMs <= durationMaxMs ? durationMs : undefined,
    renewTime: typeof renewTime === "string" ? renewTime : undefined,
    mark: JSON.stringify(spec),
  };
}

export function newLease(namespace: string, name: string, by: Holding): Record<string, unknown> {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace, name },
    spec: { ...heldBy(by), acquireTime: microTime(by.wallTimeMs), leaseTransitions: 0 },
  };
}

/** The Lease held by the given holder: renewed where it is the same one, else taken over. */
export function renewed({ raw, holder }: Lease, by: Holding): Record<string, unknown> {
  const spec = isObject(raw["spec"]) ? raw["spec"] : {};
  const { leaseTransitions } = spec;
  // One more than an int32 holds, and the API would refuse every write of the Lease from then on.
  const transitions = typeof leaseTransitions === "number" && leaseTransitions < transitionsMax ? leaseTransitions : 0;
  const taken = { acquireTime: microTime(by.wallTimeMs), leaseTransitions: transitions + 1 };
  return { ...raw, spec: { ...spec, ...heldBy(by), ...(holder !== by.holder && taken) } };
}

/** Held by nobody, as client-go leaves it: whoever looks next may take it at once. */
export function released({ raw }: Lease, wallTimeMs: Milliseconds): Record<string, unknown> {
  const spec = isObject(raw["spec"]) ? raw["spec"] : {};
  return { ...raw, spec: { ...spec, ...heldBy({ holder: "", durationMs: 1_000, wallTimeMs }) } };
}

function heldBy({ holder, durationMs, wallTimeMs }: Holding) {
  const leaseDurationSeconds = Math.max(1, Math.round(durationMs / 1000));
  return { holderIdentity: holder, leaseDurationSeconds, renewTime: microTime(wallTimeMs) };
}

/**
 * Exactly six digits after the point: the API refuses a time with three, as JavaScript writes it (FR-113).
 *
 * @see kubernetes apimachinery pkg/apis/meta/v1/micro_time.go, RFC3339Micro
 */
function microTime(wallTimeMs: Milliseconds): string {
  const whole = Math.floor(wallTimeMs);
  const micros = Math.floor((wallTimeMs - whole) * 1000);
  return new Date(whole).toISOString().replace("Z", `${String(micros).padStart(3, "0")}Z`);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
