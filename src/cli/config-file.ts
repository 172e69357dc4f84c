/** Berth's own configuration, as a file that a flag names, and what of it the commands for operators look at. */
import { readFileSync } from "node:fs";
import { type Config, ConfigError, defaults, parseConfig } from "../config.ts";
import { type LeasePlace, type Right, rightsFor } from "../permissions/rights.ts";
import { type Deployment, deployments } from "../scheduler-config/deployments.ts";
import { Misuse } from "./arguments.ts";

/** @throws Misuse naming the file, and the line and the key where there are any */
export function readConfigFile(flag: string, path: string | undefined): Config {
  if (path === undefined) return defaults;
  try {
    return parseConfig(readFileSync(path, "utf8"), path);
  } catch (error) {
    if (error instanceof ConfigError) throw new Misuse(error.message);
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new Misuse(`${flag} ${path}: ${code === "ENOENT" ? "no such file" : message}`);
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
