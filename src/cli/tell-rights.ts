/** What `berth serve` says at its start of the rights that it lacks. */
import type { Config } from "../config.ts";
import { ApiClient } from "../kube/client.ts";
import type { Log } from "../log.ts";
import { tellMissingRights } from "../permissions/review.ts";
import type { Exchange, Runtime } from "../runtime/runtime.ts";
import { leaseOf, rightsOf } from "./config-file.ts";
import { berthVersion } from "./version.ts";

const timeoutMs = 10_000;

/** Beside everything else: Berth starts whatever the API says, or whether it says anything. Never rejects. */
export function tellRights(o: {
  readonly exchange: Exchange;
  readonly runtime: Runtime;
  readonly config: Config;
  readonly log: Log;
}): Promise<void> {
  const { exchange, runtime, config, log } = o;
  const client = new ApiClient({ runtime, exchange, userAgent: `berth/${berthVersion()}`, timeoutMs });
  // Whether kube-scheduler leaves bind to Berth stands in its configuration alone.
  return tellMissingRights(client, rightsOf(config, "second-scheduler"), { lease: leaseOf(config), log });
}
