/** `berth check-permissions`: which of the rights that Berth uses the cluster grants, asked as Berth would ask. */
import { reviewRights } from "../permissions/review.ts";
import { type Right, titleOf } from "../permissions/rights.ts";
import { jsonText, Misuse, parseOptions, readOutput, runCommand } from "./arguments.ts";
import { withCluster } from "./cluster-client.ts";
import { leaseOf, readConfigFile, readMode, rightsOf } from "./config-file.ts";
import type { Command, CommandIo } from "./io.ts";
import { printTable } from "./table.ts";

const help = `Usage: berth check-permissions [--mode MODE] [--config FILE] [--kubeconfig FILE] [-o table|json]

Asks the cluster which of the rights that Berth uses are granted to the user of the kubeconfig (SelfSubjectAccessReview), and
says what fails without those that are not. "berth rbac" prints the roles that grant them.

      --mode MODE        "second-scheduler" (default), "control-plane" or "filter-only", which binds nothing
      --config FILE      Berth's configuration, which says where its Lease is and whether it has one
      --kubeconfig FILE  whose rights; else the Pod's service account, $KUBECONFIG, ~/.kube/config
  -o, --output FORMAT    "table" (default) or "json"

Exits with 0 when all are granted, 1 when one is missing, 2 when the cluster cannot be asked.
`;

const timeoutMs = 10_000;

export const checkPermissionsCommand: Command = (argv, io) =>
  runCommand("check-permissions", io, () => checkPermissions(argv, io));

async function checkPermissions(argv: readonly string[], io: CommandIo): Promise<number> {
  const options = parseOptions(argv, {
    mode: { type: "string" },
    config: { type: "string" },
    kubeconfig: { type: "string" },
    output: { type: "string", short: "o", default: "table" },
    help: { type: "boolean", short: "h" },
  });
  if (options.help) {
    io.stdout.write(help);
    return 0;
  }
  const output = readOutput(options.output, ["table", "json"]);
  const config = readConfigFile("--config", options.config);
  const rights = rightsOf(config, readMode(options.mode));
  const flag = options.kubeconfig ?? config.kubeconfig;
  const lease = leaseOf(config);
  const review = await withCluster(io, flag, timeoutMs, async (client, server) => {
    const asked = await reviewRights(client, rights, lease);
    if (asked.ok) return asked;
    throw new Misuse(`${server} could not be asked: ${asked.why}`);
  });

  const rows = rights.map((right) => {
    const granted = !review.missing.includes(right);
    return { right: titleOf(right, lease), granted, for: right.why, without: right.without };
  });
  io.stdout.write(output === "json" ? jsonText(rows) : printed(rows, review.missing));
  return review.missing.length === 0 ? 0 : 1;
}

interface Row {
  readonly right: string;
  readonly granted: boolean;
  readonly for: string;
  readonly without: string;
}

function printed(rows: readonly Row[], missing: readonly Right[]): string {
  const cells = rows.map((row) => [row.right, row.granted ? "yes" : "NO", row.granted ? row.for : row.without]);
  return [
    printTable(["RIGHT", "GRANTED", "FOR, OR WHAT FAILS WITHOUT IT"], cells),
    `\n${rows.length - missing.length} of ${rows.length} rights are granted\n`,
    ...(missing.length > 0 ? ['"berth rbac" prints the roles that grant them\n'] : []),
  ].join("");
}
