/** Asks the API which of the rights it grants to whoever asks. */
import type { ApiClient } from "../kube/client.ts";
import type { Log } from "../runtime/log.ts";
import { type LeasePlace, ownReview, type Right, titleOf } from "./rights.ts";

export type Review =
  | { readonly ok: true; readonly missing: readonly Right[] }
  /** The API was not to be asked, or did not say. */
  | { readonly ok: false; readonly why: string };

const path = `/apis/${ownReview.group}/v1/${ownReview.resource}`;

/** One question a right, side by side: the transport bounds how many are out. Never rejects. */
export async function reviewRights(
  client: Pick<ApiClient, "post">,
  rights: readonly Right[],
  lease: LeasePlace,
): Promise<Review> {
  const answers = await Promise.all(rights.map((right) => ask(client, right, lease)));
  const failed = answers.find((answer) => typeof answer === "string");
  if (failed !== undefined) return { ok: false, why: failed };
  return { ok: true, missing: rights.filter((_, index) => answers[index] === false) };
}

/** Whether it is granted, or why that is not known. */
async function ask(client: Pick<ApiClient, "post">, right: Right, lease: LeasePlace): Promise<boolean | string> {
  const { verb, group, resource, subresource, on } = right;
  const resourceAttributes = {
    verb,
    group,
    resource,
    ...(subresource !== undefined && { subresource }),
    ...(on !== "cluster" && { namespace: lease.namespace }),
    ...(on === "lease" && { name: lease.name }),
  };
  const review = { apiVersion: `${ownReview.group}/v1`, kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
  const outcome = await client.post(path, review);
  if (!outcome.ok) return outcome.message;
  const allowed = (outcome.body as { status?: { allowed?: unknown } } | null)?.status?.allowed;
  return typeof allowed === "boolean"
    ? allowed
    : "the answer to a SelfSubjectAccessReview does not say whether it is allowed";
}

/** One line a right that is missing, and what becomes of Berth meanwhile. Never rejects: to say so is no reason to end. */
export async function tellMissingRights(
  client: Pick<ApiClient, "post">,
  rights: readonly Right[],
  { lease, log }: { readonly lease: LeasePlace; readonly log: Log },
): Promise<void> {
  const review = await reviewRights(client, rights, lease);
  if (!review.ok) {
    log.warn({ error: review.why }, "Could not ask which rights are granted");
    return;
  }
  const { missing } = review;
  for (const right of missing) {
    log.warn({ right: titleOf(right, lease), part: right.part, without: right.without }, "Lacks a right");
  }
  if (missing.length === 0) log.info({ rights: rights.length }, "Has every right that it uses");
  else {
    log.warn(
      { missing: missing.length, rights: rights.length },
      'Serves without them, goes on trying, and takes up what is granted: "berth rbac" prints the roles',
    );
  }
}
