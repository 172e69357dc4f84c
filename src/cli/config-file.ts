/** What of Berth's own configuration the commands for operators look at. */
import { textMax } from "../config/document.ts";
import { parseConfig } from "../config/load.ts";
import { type Config, ConfigError, defaults } from "../config.ts";
import { type LeasePlace, type Right, rightsFor } from "../permissions/rights.ts";
import { type Deployment, deployments } from "../scheduler-config/deployments.ts";
import { Misuse } from "./arguments.ts";
import { readText } from "./read-text.ts";

/** @throws Misuse naming the flag, and the file, the line and the key where there are any */
export function readConfigFile(flag: string, path: string | undefined): Config {
  if (path === undefined) return defaults;
  const text = readConfigText(path, `${flag} ${path}`);
  return orMisuse(() => parseConfig(text, path));
}

/** @throws Misuse that begins with `what` */
export function readConfigText(path: string, what: string): string {
  return readText(path, what, textMax);
}

/** @throws Misuse instead of ConfigError */
export function orMisuse<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof ConfigError ? new Misuse(error.message) : error;
  }
}

/** @throws Misuse */
export function readMode(written: string | undefined): Deployment {
  const mode = deployments.find((name) => name === (written ?? "second-scheduler"));
  if (mode) return mode;
  throw new Misuse(`--mode ${written}: use ${deployments.map((name) => `"${name}"`).join(" or ")}`);
}

export function leaseOf({ leaderElection }: Config): LeasePlace {
  return { namespace: leaderElection.resourceNamespace, name: leaderElection.resourceName };
}

/** What a Berth of this configuration uses in this deployment. */
export function rightsOf({ leaderElection, debugTls, debugAccess }: Config, mode: Deployment): readonly Right[] {
  return rightsFor({
    binds: mode !== "filter-only",
    elects: leaderElection.mode !== "off",
    reviews: debugTls !== undefined && debugAccess.tokenReviews,
  });
}
