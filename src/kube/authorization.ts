/** The Authorization header of each request, kept up to date as tokens rotate (FR-114). */
import { readFile } from "node:fs/promises";
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import type { Credentials } from "./connection.ts";

/** As client-go: kubelet replaces a token long before the old one ends. @see client-go transport/token_source.go */
const rereadAfterMs: Milliseconds = 60_000;

export class Authorization {
  readonly #runtime: Runtime;
  readonly #credentials: Credentials;
  #token: string | undefined;
  #readAt: Milliseconds | undefined;
  #reading: Promise<void> | undefined;

  constructor(runtime: Runtime, credentials: Credentials) {
    this.#runtime = runtime;
    this.#credentials = credentials;
  }

  /** The header's value; undefined for a request without one. Rejects when there is nothing to say who we are. */
  async header(): Promise<string | undefined> {
    const credentials = this.#credentials;
    switch (credentials.kind) {
      case "none":
        return undefined;
      case "token":
        return bearer(credentials.token);
      case "basic":
        return `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString("base64")}`;
      case "ask":
        return credentials.authorization();
      case "tokenFile": {
        const isOld = this.#readAt === undefined || this.#runtime.now() - this.#readAt >= rereadAfterMs;
        if (isOld) await this.#read(credentials.path);
        if (this.#token === undefined) throw new Error(`no token could be read from ${credentials.path}`);
        return bearer(this.#token);
      }
    }
  }

  /** After a 401: whether there is now another header to try. `refused` is the one that was not accepted. */
  async renew(refused: string | undefined): Promise<boolean> {
    if (this.#credentials.kind !== "tokenFile") return false;
    await this.#read(this.#credentials.path);
    return this.#token !== undefined && bearer(this.#token) !== refused;
  }

  /** A file that cannot be read leaves the token as it was: it may be between two versions. */
  async #read(path: string): Promise<void> {
    this.#reading ??= readFile(path, "utf8")
      .then((text) => {
        // A line end is not part of the token, and no header may carry one.
        const token = text.trim();
        if (token !== "") this.#token = token;
      })
      .catch(() => undefined)
      .finally(() => {
        this.#readAt = this.#runtime.now();
        this.#reading = undefined;
      });
    await this.#reading;
  }
}

function bearer(token: string): string {
  return `Bearer ${token}`;
}
