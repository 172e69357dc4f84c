/**
 * Who may look, where the debug listener speaks TLS: whoever has a client certificate of an allowed name, or a token that the
 * API server knows and whose user may read the path. Where nobody can say, nobody comes in.
 */
import { LRUCache } from "lru-cache";
import type { Config } from "../config.ts";
import { type AskedPath, digestOf, type ReviewedUser } from "../kube/reviews.ts";
import type { Admission, RequestHead, Runtime } from "../runtime/runtime.ts";
import { cacheClock } from "./cache-clock.ts";
import { type CallerRefusal, Callers, type CallersDeps, isProbe } from "./callers.ts";
import type { Reviewer } from "./parts.ts";
import { pathOf } from "./router.ts";

/** Questions to the API server at one time: made up tokens cost it work, and those beyond are told to come again. */
const reviewsMax = 4;

const passage: Admission = { kind: "passed" };

export interface DebugGuardDeps extends CallersDeps {
  readonly runtime: Pick<Runtime, "now" | "wallTime">;
  readonly reviewer: Reviewer;
  readonly config: Pick<Config, "debugTls" | "debugAccess">;
}

/** Why somebody may not, or that he may. `error`: why nobody could say. */
interface Verdict {
  readonly cause: CallerRefusal | undefined;
  readonly error?: string;
}

export class DebugGuard {
  readonly #deps: DebugGuardDeps;
  readonly #callers: Callers;
  /** By the hash of a token: a dump of our memory shows no token of the last seconds. */
  readonly #users: LRUCache<string, { readonly user: ReviewedUser | undefined }>;
  /** By the hash of a token, a verb and a path. */
  readonly #verdicts: LRUCache<string, Verdict>;
  readonly #asking = new Map<string, Promise<Verdict>>();

  constructor(deps: DebugGuardDeps, allowedNames: readonly string[]) {
    this.#deps = deps;
    this.#callers = new Callers(deps, "debug", allowedNames);
    const { rememberedMax, deniedMs } = deps.config.debugAccess;
    const options = { max: rememberedMax, ttl: deniedMs, ...cacheClock(deps.runtime) };
    this.#users = new LRUCache(options);
    this.#verdicts = new LRUCache(options);
  }

  async admit(head: RequestHead): Promise<Admission> {
    if (isProbe(head)) return passage;
    const { debugTls, debugAccess } = this.#deps.config;
    const ofCertificate = debugTls?.clientCAFile === undefined ? "noCertificate" : this.#callers.problemOf(head.peer);
    if (ofCertificate === undefined) return passage;
    const token = debugAccess.tokenReviews ? tokenOf(head.authorization) : undefined;
    if (token === undefined) {
      const cause = ofCertificate === "noCertificate" && debugAccess.tokenReviews ? "noToken" : ofCertificate;
      return this.#callers.refused(cause, { who: head.peer?.subject });
    }
    const { cause, error } = await this.#verdictOn(token, head);
    return cause === undefined ? passage : this.#callers.refused(cause, { error });
  }

  /** Those who ask the same meanwhile wait for the same answer. */
  #verdictOn(token: string, head: RequestHead): Promise<Verdict> | Verdict {
    const asked = { path: pathOf(head.path), verb: head.method.toLowerCase() };
    const key = digestOf(`${token} ${asked.verb} ${asked.path}`);
    const known = this.#verdicts.get(key) ?? this.#asking.get(key);
    if (known !== undefined) return known;
    if (this.#asking.size >= reviewsMax) return { cause: "notReviewed", error: "too many are being asked about" };
    const verdict = this.#ask(token, key, asked).finally(() => this.#asking.delete(key));
    this.#asking.set(key, verdict);
    return verdict;
  }

  async #ask(token: string, key: string, asked: AskedPath): Promise<Verdict> {
    const { reviewer, config } = this.#deps;
    const { allowedMs, deniedMs } = config.debugAccess;
    const holder = digestOf(token);
    let known = this.#users.get(holder);
    if (!known) {
      const found = await reviewer.token(token);
      if (found.kind === "failed") return { cause: "notReviewed", error: found.why };
      known = { user: found.kind === "user" ? found.user : undefined };
      this.#users.set(holder, known, { ttl: known.user ? allowedMs : deniedMs });
    }
    if (!known.user) return { cause: "tokenUnknown" };
    const access = await reviewer.access(known.user, asked);
    if (access.kind === "failed") return { cause: "notReviewed", error: access.why };
    const verdict: Verdict = { cause: access.kind === "allowed" ? undefined : "forbidden" };
    // A yes to a path is no older than the yes to the token.
    const ttl = access.kind === "allowed" ? this.#users.getRemainingTTL(holder) : deniedMs;
    if (ttl > 0) this.#verdicts.set(key, verdict, { ttl });
    return verdict;
  }
}

/** @see RFC 6750 §2.1 */
function tokenOf(authorization: string | undefined): string | undefined {
  return /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(authorization ?? "")?.[1];
}
