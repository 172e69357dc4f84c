/** The API of the cluster that a command is about, for as long as it asks. */
import { ApiClient } from "../kube/client.ts";
import { findConnection } from "../kube/kube-config.ts";
import { Transport } from "../kube/transport.ts";
import type { Milliseconds } from "../runtime/runtime.ts";
import { Misuse } from "./arguments.ts";
import type { CommandIo } from "./io.ts";
import { berthVersion } from "./version.ts";

/**
 * @param kubeconfig  as a flag or the configuration names it; else the Pod's service account, $KUBECONFIG, ~/.kube/config
 * @param timeoutMs   of one call
 * @param ask         gets the client, and the server's address for messages
 * @throws Misuse where no cluster is found; what `ask` throws
 */
export async function withCluster<T>(
  { env, runtime }: CommandIo,
  kubeconfig: string | undefined,
  timeoutMs: Milliseconds,
  ask: (client: ApiClient, server: string) => Promise<T>,
): Promise<T> {
  const found = await findConnection({ env, ...(kubeconfig !== undefined && { flag: kubeconfig }) });
  if (!found.ok) throw new Misuse(found.error);
  const { connection } = found;
  const transport = new Transport({ runtime, connection });
  const userAgent = `berth/${berthVersion()}`;
  try {
    return await ask(new ApiClient({ runtime, exchange: transport.exchange, userAgent, timeoutMs }), connection.server);
  } finally {
    transport.close();
  }
}
