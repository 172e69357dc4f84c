/** Who may call, by client certificate. Asked before a body is read. */
import type { Log } from "../log.ts";
import type { ListenerName, Metrics } from "../metrics.ts";
import type { Admission, Milliseconds, Peer, RequestHead, Runtime } from "../runtime/runtime.ts";
import { failureReply } from "./replies.ts";
import { pathOf } from "./router.ts";

/** Why a caller may not ask what he asked. */
export type CallerRefusal =
  | "noCertificate"
  | "certificateExpired"
  | "certificateUntrusted"
  | "nameNotAllowed"
  | "noToken"
  | "tokenUnknown"
  | "forbidden"
  /** The API server did not say, or too many were being asked about. */
  | "notReviewed";

export interface CallersDeps {
  readonly runtime: Pick<Runtime, "now" | "wallTime">;
  readonly metrics: Metrics;
  readonly log: Log;
}

type Refused = Extract<Admission, { readonly kind: "refused" }>;

/** Whoever may not call can call often. */
const logEveryMs: Milliseconds = 10_000;

const certificates: Readonly<Record<NonNullable<Peer["problem"]>, CallerRefusal>> = {
  none: "noCertificate",
  expired: "certificateExpired",
  untrusted: "certificateUntrusted",
};
const statuses: Readonly<Record<CallerRefusal, 401 | 403 | 503>> = {
  noCertificate: 401,
  certificateExpired: 401,
  certificateUntrusted: 401,
  nameNotAllowed: 403,
  noToken: 401,
  tokenUnknown: 401,
  forbidden: 403,
  notReviewed: 503,
};
const messages: Readonly<Record<CallerRefusal, string>> = {
  noCertificate: "a client certificate is needed",
  certificateExpired: "the client certificate has expired",
  certificateUntrusted: "the client certificate is of no authority that is known here, or not for clients",
  nameNotAllowed: "the client certificate is of a name that may not call here",
  noToken: "a client certificate or a bearer token is needed",
  tokenUnknown: "nobody is known by this token",
  forbidden: "this user may not read this path",
  notReviewed: "who this is cannot be found out now; ask again",
};

export class Callers {
  readonly #deps: CallersDeps;
  readonly #listener: ListenerName;
  readonly #allowedNames: readonly string[];
  #loggedAtMs: Milliseconds | undefined;

  constructor(deps: CallersDeps, listener: ListenerName, allowedNames: readonly string[]) {
    this.#deps = deps;
    this.#listener = listener;
    this.#allowedNames = allowedNames;
  }

  /** The answer for a caller without the right certificate; undefined for one who has it, and for probes, which carry none. */
  refuse(head: RequestHead): Refused | undefined {
    if (isProbe(head)) return undefined;
    const cause = this.problemOf(head.peer);
    return cause && this.refused(cause, { who: head.peer?.subject });
  }

  /** What is wrong with a certificate, looked at anew with each request: it may end while its connection stands. */
  problemOf(peer: Peer | undefined): CallerRefusal | undefined {
    if (!peer) return "noCertificate";
    if (peer.problem) return certificates[peer.problem];
    if (peer.expiresAtMs <= this.#deps.runtime.wallTime()) return "certificateExpired";
    return this.#allowedNames.some((name) => peer.isNamed(name)) ? undefined : "nameNotAllowed";
  }

  /** `told` is for the log alone: whose certificate it was, and why nobody could say who he is. */
  refused(cause: CallerRefusal, told: { who?: string | undefined; error?: string | undefined } = {}): Refused {
    const { runtime, metrics, log } = this.#deps;
    metrics.callersRefused.inc({ listener: this.#listener, cause });
    const isTold = this.#loggedAtMs !== undefined && runtime.now() - this.#loggedAtMs < logEveryMs;
    if (!isTold) {
      this.#loggedAtMs = runtime.now();
      log.warn({ listener: this.#listener, reason: cause, ...told }, "Turned a caller away");
    }
    const reply = failureReply(statuses[cause], messages[cause]);
    const asks = statuses[cause] === 401 && this.#listener === "debug" ? { "www-authenticate": "Bearer" } : {};
    return { kind: "refused", reply: { ...reply, headers: { ...reply.headers, ...asks } } };
  }
}

/** Kubelet's probes say nothing of who they are, and learn whether Berth is ready and, where it is not, why. */
export function isProbe({ method, path }: RequestHead): boolean {
  const asked = pathOf(path);
  return method === "GET" && (asked === "/livez" || asked === "/readyz");
}
