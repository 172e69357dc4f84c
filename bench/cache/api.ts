/** The API server's process: fills itself, says where it listens, then does as it is told. `node api.ts SIZE STREAMS` */
import { listen } from "../../src/http/listener.ts";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import { answer, tell } from "./children.ts";
import { Churn } from "./churn.ts";
import { claimObject, classObject, nodeObject, podObject, volumeNameOf, volumeObject } from "./objects.ts";
import { ServedApi } from "./served.ts";
import { claimsPerPod, type Size, sparesOf } from "./size.ts";

const tickMs = 5;
/** So far it may fall behind before it gives events up instead of sending them in a heap. */
const ticksMax = 20;

function fill(api: ServedApi, size: Size): void {
  const { nodes, disksPerNode, freePerNode, pods } = size;
  api.put("storageclasses", classObject());
  for (let node = 0; node < nodes; node++) {
    api.put("nodes", nodeObject(node, "2026-01-02T00:00:00Z"));
    for (let disk = 0; disk < disksPerNode; disk++) {
      const isFree = disk >= disksPerNode - freePerNode;
      const bound = { volume: volumeNameOf(node, disk), phase: "Bound" };
      const claim = isFree ? undefined : claimObject(`old-${node}`, disk, bound);
      if (claim) api.put("persistentvolumeclaims", claim);
      api.put("persistentvolumes", volumeObject(node, disk, claim && { claim, phase: "Bound" }));
    }
  }
  for (let pod = 0; pod < pods; pod++) {
    for (let claim = 0; claim < claimsPerPod; claim++)
      api.put("persistentvolumeclaims", claimObject(`app-${pod}`, claim));
    api.put("pods", podObject(pod, claimsPerPod, `0/${nodes} nodes are available`));
  }
  for (let spare = 0; spare < sparesOf(size); spare++)
    api.put("persistentvolumeclaims", claimObject(`spare-${spare}`, 0));
}

/** At a steady rate; those that could not be made in time are not made up for. */
async function send(churn: Churn, { eventsPerSecond, seconds }: Size): Promise<{ sent: number; wanted: number }> {
  const wanted = eventsPerSecond * seconds;
  const begun = performance.now();
  let due = 0;
  let sent = 0;
  while (due < wanted) {
    await runtime.sleep(tickMs);
    const before = due;
    due = Math.min(wanted, Math.floor(((performance.now() - begun) / 1000) * eventsPerSecond));
    const most = Math.ceil((ticksMax * tickMs * eventsPerSecond) / 1000);
    for (let count = Math.min(most, due - before); count > 0; count--, sent++) churn.next();
  }
  return { sent, wanted };
}

const [sizeText = "", streams = ""] = process.argv.slice(2);
const size = JSON.parse(sizeText) as Size;
const api = new ServedApi(runtime, streams === "true");
fill(api, size);
const churn = new Churn(api, size);
const listener = await listen({ handler: api.exchange, host: "127.0.0.1", port: 0, bodyLimitBytes: 1 << 20 });
answer({
  events: () => send(churn, size),
  compact: async () => {
    api.compact(["nodes", "persistentvolumes", "persistentvolumeclaims", "pods", "storageclasses"]);
    api.compact(["csidrivers", "csinodes", "csistoragecapacities"]);
    return {};
  },
});
tell({ port: listener.port });
