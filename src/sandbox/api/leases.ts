/** What a Lease must be like: a decoder that knows one form of time, and two rules. */
import { type ApiObject, at, type JsonObject, numberAt } from "./json.ts";
import type { FieldError } from "./status.ts";
import { wrong } from "./validation.ts";

/** The row's part of the table of resources. */
export const leaseRules = { whyUnreadable, check: checkLease } as const;

const microTime = "2006-01-02T15:04:05.000000Z07:00";
const wellTimed = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)$/;

const int32Max = 2 ** 31 - 1;

function whyUnreadable(lease: JsonObject): string | undefined {
  return mistimed(lease) ?? tooLong(lease);
}

/** @see kubernetes staging/src/k8s.io/api/coordination/v1/types.go, LeaseSpec */
function tooLong(lease: JsonObject): string | undefined {
  for (const field of ["leaseDurationSeconds", "leaseTransitions"]) {
    const count = at(lease, "spec", field);
    if (typeof count !== "number" || Math.abs(count) <= int32Max) continue;
    return `json: cannot unmarshal number ${count} into Go struct field LeaseSpec.spec.${field} of type int32`;
  }
  return undefined;
}

/**
 * MicroTime is read with exactly six digits after the point (FR-113).
 *
 * @see kubernetes apimachinery pkg/apis/meta/v1/micro_time.go, UnmarshalJSON
 */
function mistimed(lease: JsonObject): string | undefined {
  for (const field of ["acquireTime", "renewTime"]) {
    const time = at(lease, "spec", field);
    if (time === undefined || time === null || (typeof time === "string" && wellTimed.test(time))) continue;
    const rest = String(time).replace(/^[^.Z]*/, "");
    return `parsing time "${String(time)}" as "${microTime}": cannot parse "${rest}" as ".000000"`;
  }
  return undefined;
}

/** @see kubernetes pkg/apis/coordination/validation/validation.go, ValidateLeaseSpec */
function checkLease({ spec }: ApiObject): FieldError[] {
  const seconds = numberAt(spec, "leaseDurationSeconds") ?? 1;
  const transitions = numberAt(spec, "leaseTransitions") ?? 0;
  return [
    ...(seconds > 0 ? [] : [wrong("spec.leaseDurationSeconds", seconds, "must be greater than 0")]),
    ...(transitions >= 0 ? [] : [wrong("spec.leaseTransitions", transitions, "must be greater than or equal to 0")]),
  ];
}
