/** Who may do what: everybody everything. The questions are answered so that clients that ask first go on. */
import type { HttpReply, HttpRequest } from "../../runtime/runtime.ts";
import { at, type JsonObject } from "./json.ts";
import { bodyObject } from "./request.ts";
import { jsonReply } from "./status.ts";

const allowed: JsonObject = { allowed: true, reason: "the sandbox allows everything" };
const user: JsonObject = { username: "berth-sandbox", groups: ["system:masters", "system:authenticated"] };

const verdicts: ReadonlyMap<string, { kind: string; status: JsonObject }> = new Map([
  ["authorization.k8s.io/v1/selfsubjectaccessreviews", { kind: "SelfSubjectAccessReview", status: allowed }],
  ["authorization.k8s.io/v1/subjectaccessreviews", { kind: "SubjectAccessReview", status: allowed }],
  ["authentication.k8s.io/v1/tokenreviews", { kind: "TokenReview", status: { authenticated: true, user } }],
  ["authentication.k8s.io/v1/selfsubjectreviews", { kind: "SelfSubjectReview", status: { userInfo: user } }],
]);

/** @returns the review's answer, or `undefined` when the path is none of a review */
export function reviewAccess(segments: readonly string[], request: HttpRequest): HttpReply | undefined {
  const [root, group = "", version = "", plural = ""] = segments;
  const verdict = root === "apis" ? verdicts.get(`${group}/${version}/${plural}`) : undefined;
  if (!verdict) return undefined;
  const spec = at(bodyObject(request), "spec") ?? {};
  const { kind, status } = verdict;
  return jsonReply(201, { kind, apiVersion: `${group}/${version}`, metadata: {}, spec, status });
}
