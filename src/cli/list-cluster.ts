/** Everything of a cluster that Berth watches but Pods, as manifests: with the rights that Berth reads by. */
import { kindInfo } from "../apis/kubernetes.ts";
import { Backoff } from "../cluster/backoff.ts";
import { list } from "../cluster/listing.ts";
import { Pace } from "../cluster/pace.ts";
import { ApiClient } from "../kube/client.ts";
import { findConnection } from "../kube/kube-config.ts";
import { Transport } from "../kube/transport.ts";
import { kinds } from "../scheduling/objects.ts";
import { Misuse } from "./arguments.ts";
import type { CommandIo } from "./io.ts";
import type { Manifest } from "./manifests.ts";
import { berthVersion } from "./version.ts";

const timeoutMs = 30_000;

/** @throws Misuse where the cluster cannot be asked */
export async function listCluster(io: CommandIo, kubeconfig: string | undefined): Promise<Manifest[]> {
  const found = await findConnection({ env: io.env, ...(kubeconfig !== undefined && { flag: kubeconfig }) });
  if (!found.ok) throw new Misuse(found.error);
  const { runtime, signal } = io;
  const transport = new Transport({ runtime, connection: found.connection });
  const client = new ApiClient({
    runtime,
    exchange: transport.exchange,
    userAgent: `berth/${berthVersion()}`,
    timeoutMs,
  });
  const manifests: Manifest[] = [];
  try {
    for (const kind of kinds.filter((one) => one !== "pod")) {
      const { kind: word, apiVersion, plural } = kindInfo[kind];
      const put = (raw: unknown): undefined => {
        if (typeof raw !== "object" || raw === null) return;
        // Items of a list do not repeat their kind.
        manifests.push({
          object: { kind: word, apiVersion, ...raw },
          where: `${plural} of ${found.connection.server}`,
        });
      };
      const mirror = { put, remove: () => {}, keys: () => [] };
      const deps = { kind, client, mirror, pace: new Pace(runtime), backoff: new Backoff(runtime) };
      const listed = await list(deps, signal);
      if (!listed.ok) throw new Misuse(`${plural} of ${found.connection.server} cannot be listed: ${listed.message}`);
    }
    return manifests;
  } finally {
    transport.close();
  }
}
