/** TokenReview and SubjectAccessReview: who holds a token, and whether he may read a path, as the API server says. */
import { createHash } from "node:crypto";
import type { ApiClient } from "./client.ts";
import { fieldsOf, type Outcome } from "./outcome.ts";

/** As TokenReview gives it, and SubjectAccessReview takes it. */
export interface ReviewedUser {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export type TokenVerdict =
  | { readonly kind: "user"; readonly user: ReviewedUser }
  | { readonly kind: "nobody" }
  /** Nobody could say. */
  | { readonly kind: "failed"; readonly why: string };

export type AccessVerdict =
  | { readonly kind: "allowed" }
  | { readonly kind: "denied" }
  | { readonly kind: "failed"; readonly why: string };

export interface AskedPath {
  /** Without the query. */
  readonly path: string;
  /** Of HTTP, in lower case, as rules for nonResourceURLs have it. */
  readonly verb: string;
}

/** What stands for a token where it is remembered. */
export function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}

export async function reviewToken(client: ApiClient, token: string, signal?: AbortSignal): Promise<TokenVerdict> {
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
  const outcome = await client.post("/apis/authentication.k8s.io/v1/tokenreviews", review, signal);
  const status = statusOf(outcome);
  // A server that repeats what it was sent must not bring the token into our log.
  if (typeof status === "string") return { kind: "failed", why: status.replaceAll(token, "(the token)") };
  if (status["authenticated"] !== true) return { kind: "nobody" };
  const user = userOf(status["user"]);
  return user ? { kind: "user", user } : { kind: "failed", why: "the TokenReview names no user" };
}

export async function reviewAccess(
  client: ApiClient,
  user: ReviewedUser,
  asked: AskedPath,
  signal?: AbortSignal,
): Promise<AccessVerdict> {
  const { username, ...more } = user;
  const spec = { user: username, ...more, nonResourceAttributes: asked };
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
  const status = statusOf(await client.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review, signal));
  if (typeof status === "string") return { kind: "failed", why: status };
  // An error that was met on the way does not take back a yes, and a denial stands above it.
  return { kind: status["allowed"] === true && status["denied"] !== true ? "allowed" : "denied" };
}

/** The review's status, or why there is none. */
function statusOf(outcome: Outcome): Readonly<Record<string, unknown>> | string {
  if (!outcome.ok) return outcome.message;
  const status = fieldsOf(fieldsOf(outcome.body)["status"]);
  return Object.keys(status).length > 0 ? status : "the review has no status";
}

function userOf(value: unknown): ReviewedUser | undefined {
  const { username, uid, groups, extra } = fieldsOf(value);
  if (typeof username !== "string" || username === "") return undefined;
  return {
    username,
    ...(typeof uid === "string" && { uid }),
    ...(areTexts(groups) && { groups }),
    ...(isExtra(extra) && { extra }),
  };
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function isExtra(value: unknown): value is Readonly<Record<string, readonly string[]>> {
  return typeof value === "object" && value !== null && Object.values(value).every(areTexts);
}
