/** Failures as the Kubernetes API words them: clients branch on `reason` and `code`, people read `message`. */
import type { HttpReply } from "../../runtime/runtime.ts";
import type { JsonObject } from "./json.ts";

/** A failure that the client is told about. Anything else thrown is a fault of ours and becomes a 500. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: JsonObject | undefined;
  readonly metadata: JsonObject;

  constructor(o: { code: number; reason: string; message: string; details?: JsonObject; metadata?: JsonObject }) {
    super(o.message);
    this.code = o.code;
    this.reason = o.reason;
    this.details = o.details;
    this.metadata = o.metadata ?? {};
  }

  get status(): JsonObject {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: this.metadata,
      status: "Failure",
      message: this.message,
      reason: this.reason,
      ...(this.details ? { details: this.details } : {}),
      code: this.code,
    };
  }
}

/** Which resource an error is about: plural name and group, "" being core. */
interface GroupResource {
  readonly group: string;
  readonly plural: string;
}

/** One broken rule of one field, as `field.Error` of apimachinery. */
export interface FieldError {
  readonly field: string;
  readonly type: "Required value" | "Invalid value" | "Forbidden" | "Unsupported value" | "Duplicate value";
  readonly message: string;
  readonly value?: unknown;
}

const causes: Record<FieldError["type"], string> = {
  "Required value": "FieldValueRequired",
  "Invalid value": "FieldValueInvalid",
  Forbidden: "FieldValueForbidden",
  "Unsupported value": "FieldValueNotSupported",
  "Duplicate value": "FieldValueDuplicate",
};

const qualified = ({ group, plural }: GroupResource): string => (group === "" ? plural : `${plural}.${group}`);

function detailsOf({ group, plural }: GroupResource, name: string): JsonObject {
  return { name, ...(group === "" ? {} : { group }), kind: plural };
}

export function badRequest(message: string): ApiError {
  return new ApiError({ code: 400, reason: "BadRequest", message });
}

export function notFound(resource: GroupResource, name: string): ApiError {
  const message = `${qualified(resource)} "${name}" not found`;
  return new ApiError({ code: 404, reason: "NotFound", message, details: detailsOf(resource, name) });
}

export function unknownPath(): ApiError {
  return new ApiError({
    code: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
    details: {},
  });
}

export function alreadyExists(resource: GroupResource, name: string): ApiError {
  const message = `${qualified(resource)} "${name}" already exists`;
  return new ApiError({ code: 409, reason: "AlreadyExists", message, details: detailsOf(resource, name) });
}

export function conflict(resource: GroupResource, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`;
  return new ApiError({ code: 409, reason: "Conflict", message, details: detailsOf(resource, name) });
}

/** The conflict every client retries: it read an older version. */
export function modified(resource: GroupResource, name: string): ApiError {
  const why = "the object has been modified; please apply your changes to the latest version and try again";
  return conflict(resource, name, why);
}

export function forbidden(resource: GroupResource, name: string, why: string): ApiError {
  const message = `${qualified(resource)} "${name}" is forbidden: ${why}`;
  return new ApiError({ code: 403, reason: "Forbidden", message, details: detailsOf(resource, name) });
}

export function invalid(group: string, kind: string, name: string, errors: readonly FieldError[]): ApiError {
  const words = errors.map(({ field, type, message, value }) => {
    const shown = value === undefined ? "" : ` ${JSON.stringify(value)}:`;
    return `${field}: ${type}:${shown} ${message}`;
  });
  const about = group === "" ? kind : `${kind}.${group}`;
  return new ApiError({
    code: 422,
    reason: "Invalid",
    message: `${about} "${name}" is invalid: ${words.length > 1 ? `[${words.join(", ")}]` : words.join("")}`,
    details: {
      name,
      ...(group === "" ? {} : { group }),
      kind,
      causes: errors.map(({ field, type, message, value }) => ({
        reason: causes[type],
        message: `${type}:${value === undefined ? "" : ` ${JSON.stringify(value)}:`} ${message}`,
        field,
      })),
    },
  });
}

export function expired(message: string, metadata: JsonObject = {}): ApiError {
  return new ApiError({ code: 410, reason: "Expired", message, metadata });
}

export function methodNotAllowed(): ApiError {
  const message = "the server does not allow this method on the requested resource";
  return new ApiError({ code: 405, reason: "MethodNotAllowed", message, details: {} });
}

export function notAcceptable(): ApiError {
  const message = "only the following media types are accepted: application/json";
  return new ApiError({ code: 406, reason: "NotAcceptable", message });
}

export function unsupportedMediaType(got: string, accepted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format (${got}) - accepted media types include: ${accepted.join(", ")}`;
  return new ApiError({ code: 415, reason: "UnsupportedMediaType", message });
}

export function tooLarge(limitBytes: number): ApiError {
  const message = `the request is too large: limit is ${limitBytes} bytes`;
  return new ApiError({ code: 413, reason: "RequestEntityTooLarge", message });
}

export function resourceVersionTooLarge(asked: number, current: number): ApiError {
  return new ApiError({
    code: 504,
    reason: "Timeout",
    message: `Timeout: Too large resource version: ${asked}, current: ${current}`,
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  });
}

export function internalError(fault: unknown): ApiError {
  const message = `Internal error occurred: ${fault instanceof Error ? fault.message : String(fault)}`;
  return new ApiError({ code: 500, reason: "InternalError", message });
}

export function jsonReply(status: number, value: unknown): HttpReply {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

export function bytesReply(status: number, body: Uint8Array): HttpReply {
  return { status, headers: { "content-type": "application/json" }, body };
}

export function success(details?: JsonObject): JsonObject {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", ...(details ? { details } : {}) };
}
