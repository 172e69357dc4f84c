/** `berth rbac`: the account and the roles that Berth needs, and no more. */
import { rolesYaml } from "../permissions/roles.ts";
import { Misuse, parseOptions, runCommand } from "./arguments.ts";
import { leaseOf, readConfigFile, readMode, rightsOf } from "./config-file.ts";
import type { Command, CommandIo } from "./io.ts";

const help = `Usage: berth rbac [--mode MODE] [--config FILE] [--namespace NS] [--service-account NAME]

Prints the ServiceAccount of Berth, the ClusterRole and the Role that it needs and their bindings, for "kubectl apply -f -".
Each right in them is used, and none that is used is left out: both are made from the list of calls that Berth makes. Needs no cluster.

      --mode MODE             "second-scheduler" (default), "control-plane" or "filter-only", which binds nothing
      --config FILE           Berth's configuration, which says where its Lease is and whether it has one
      --namespace NS          of the ServiceAccount (default kube-system)
      --service-account NAME  default "berth"
`;

export const rbacCommand: Command = (argv, io) => runCommand("rbac", io, () => rbac(argv, io));

async function rbac(argv: readonly string[], io: CommandIo): Promise<number> {
  const options = parseOptions(argv, {
    mode: { type: "string" },
    config: { type: "string" },
    namespace: { type: "string", default: "kube-system" },
    "service-account": { type: "string", default: "berth" },
    help: { type: "boolean", short: "h" },
  });
  if (options.help) {
    io.stdout.write(help);
    return 0;
  }
  const config = readConfigFile("--config", options.config);
  const account = {
    namespace: readName("--namespace", options.namespace),
    name: readName("--service-account", options["service-account"]),
  };
  const rights = rightsOf(config, readMode(options.mode));
  io.stdout.write(rolesYaml({ rights, lease: leaseOf(config), account }));
  return 0;
}

function readName(flag: string, written: string): string {
  if (/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(written)) return written;
  throw new Misuse(`${flag} ${JSON.stringify(written)} can be no name: use lower case letters, digits, "-" and "."`);
}
