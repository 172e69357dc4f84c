/** Requests to the API as an authorizer sees them. @see apiserver pkg/endpoints/request/requestinfo.go */
import { allRights, ownReview } from "../../src/permissions/rights.ts";
import type { Exchange, HttpRequest } from "../../src/runtime/runtime.ts";

export interface ApiCall {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

const verbs: Readonly<Record<string, string>> = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" };

export function callOf({ method, path }: Pick<HttpRequest, "method" | "path">): ApiCall {
  const { pathname, searchParams } = new URL(path, "https://api");
  const segments = pathname.split("/").slice(1).map(decodeURIComponent);
  const group = segments[0] === "apis" ? (segments[1] ?? "") : "";
  const rest = segments.slice(segments[0] === "apis" ? 3 : 2);
  const namespace = rest[0] === "namespaces" && rest.length > 2 ? rest[1] : undefined;
  const [resource = "", name, subresource] = namespace === undefined ? rest : rest.slice(2);
  const isWatch = searchParams.get("watch") === "true";
  const verb = verbs[method] ?? (name !== undefined ? "get" : isWatch ? "watch" : "list");
  return { verb, group, resource, subresource, namespace, name };
}

/** The number of the right in the list that allows the call; `undefined` where none does. */
function rightFor(call: ApiCall): number | undefined {
  const index = allRights.findIndex(
    ({ verb, group, resource, subresource, on }) =>
      call.verb === verb &&
      call.group === group &&
      call.resource === resource &&
      call.subresource === subresource &&
      // RBAC looks for the name in the path, where a create has none.
      (on !== "lease" || call.name !== undefined),
  );
  return index < 0 ? undefined : index;
}

/** Whether a right of the list allows the request, or every user has it. */
export function isAllowed(request: Pick<HttpRequest, "method" | "path">): boolean {
  const call = callOf(request);
  return rightFor(call) !== undefined || isReview(call);
}

const isReview = ({ verb, group, resource }: ApiCall): boolean =>
  verb === ownReview.verb && group === ownReview.group && resource === ownReview.resource;

/** Watches calls go by, and what of the list they stand on. */
export class CallLog {
  /** Numbers in `allRights`. */
  readonly used = new Set<number>();
  /** Calls that no right of the list allows. */
  readonly strange = new Set<string>();

  readonly over = (exchange: Exchange): Exchange => {
    return (request, signal) => {
      const call = callOf(request);
      const right = rightFor(call);
      if (right !== undefined) this.used.add(right);
      else if (!isReview(call)) this.strange.add(`${request.method} ${request.path}`);
      return exchange(request, signal);
    };
  };
}
