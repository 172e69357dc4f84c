/**
 * Certificates that are replaced on disk reach new connections without a restart. Looks at the content: a Secret's mount is
 * replaced by a symlink, which no watch on the file itself sees.
 */
import type { Log } from "../runtime/log.ts";
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import type { LoadedTls, TlsMaterial, TlsOutcome } from "./tls-files.ts";

/** Kubelet itself may take a minute to replace a mount. */
export const pollMs: Milliseconds = 10_000;
/** Three files are replaced one after the other where no symlink is. */
const settleMs: Milliseconds = 1_000;

export interface TlsWatchDeps {
  readonly runtime: Runtime;
  readonly log: Log;
  /** For the log. */
  readonly source: string;
  readonly load: () => Promise<TlsOutcome>;
  /** New connections are to be served with it. */
  readonly serve: (material: TlsMaterial) => void;
  readonly observer: {
    reloaded(outcome: "renewed" | "refused"): void;
    expiresAt(ms: Milliseconds): void;
  };
}

export class TlsWatch {
  readonly #deps: TlsWatchDeps;
  readonly #stop = new AbortController();
  #served: TlsMaterial;
  /** Told already. */
  #problem: string | undefined;

  constructor(deps: TlsWatchDeps, { material, expiresAtMs }: LoadedTls) {
    this.#deps = deps;
    this.#served = material;
    deps.observer.expiresAt(expiresAtMs);
  }

  start(): void {
    void this.#run();
  }

  stop(): void {
    this.#stop.abort();
  }

  async #run(): Promise<void> {
    const { runtime } = this.#deps;
    const { signal } = this.#stop;
    for (;;) {
      await runtime.sleep(pollMs, signal);
      if (signal.aborted) return;
      await this.#look();
    }
  }

  async #look(): Promise<void> {
    const { runtime, log, source, load, observer, serve } = this.#deps;
    const { signal } = this.#stop;
    let found = await load();
    if (!found.ok) {
      await runtime.sleep(settleMs, signal);
      found = await load();
    }
    if (signal.aborted) return;
    if (!found.ok) {
      observer.reloaded("refused");
      if (found.problem !== this.#problem) {
        log.warn({ error: found.problem }, "New TLS files cannot be used; those before them stay in use");
      }
      this.#problem = found.problem;
      return;
    }
    this.#problem = undefined;
    const { material, expiresAtMs } = found;
    const old = this.#served;
    if (material.cert === old.cert && material.key === old.key && material.ca === old.ca) return;
    serve(material);
    this.#served = material;
    observer.reloaded("renewed");
    observer.expiresAt(expiresAtMs);
    log.info({ source, expires: new Date(expiresAtMs).toISOString() }, "TLS files renewed");
  }
}
