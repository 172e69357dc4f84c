/** What a CSI driver tells the API of itself: CSIDriver, a CSINode entry a node, what room each segment has left. */
import type { Milliseconds } from "../runtime/runtime.ts";
import { type Bytes, zero } from "../scheduling/quantity.ts";
import type { Agent } from "./agent.ts";
import type { Backend, DriverConfiguration } from "./backend.ts";
import type { Draft } from "./client.ts";
import { matchesLabels } from "./match.ts";
import type { Worked } from "./work-queue.ts";

const defaultTopologyKey = "kubernetes.io/hostname";
const driverNamespace = "kube-system";
const pollMs: Milliseconds = 60_000;
const driverLabel = "csi.storage.k8s.io/drivername";
const managerLabel = "csi.storage.k8s.io/managed-by";

export function registerDriver(agent: Agent, driver: DriverConfiguration): void {
  const { name, capacity, topologyKey = defaultTopologyKey, publishesCapacity = true } = driver;
  const drivers = agent.queue([], async () => {
    const spec = { storageCapacity: publishesCapacity };
    const made = await agent.client.create("csidrivers", { metadata: { name }, spec });
    return made.ok || made.reason === "AlreadyExists" ? "done" : "retry";
  });
  drivers.add(name);

  const nodes = agent.informer("nodes");
  const entry = { name, topologyKeys: [topologyKey] };
  const queue = agent.queue(["nodes", "csinodes"], async (node): Promise<Worked> => {
    const segment = nodes.get(node)?.metadata.labels?.[topologyKey];
    if (segment === undefined || !Object.hasOwn(capacity, segment)) return "done";
    const known = agent.informer("csinodes").get(node);
    const others = known?.spec?.drivers ?? [];
    if (others.some((other) => other.name === name)) return "done";
    const written = known
      ? await agent.client.update("csinodes", { ...known, spec: { drivers: [...others, { ...entry, nodeID: node }] } })
      : await agent.client.create("csinodes", {
          metadata: { name: node },
          spec: { drivers: [{ ...entry, nodeID: node }] },
        });
    return written.ok ? "done" : "retry";
  });
  agent.feed("nodes", queue, ({ metadata }) => [metadata.name]);
  agent.feed("csinodes", queue, ({ metadata }) => [metadata.name]);
}

/**
 * Publishes each segment's room for each of the driver's classes: at every poll, when a class appears, and when the
 * function it returns says that the room has changed. A value that is published already is not written again.
 */
export function publishCapacity(agent: Agent, driver: DriverConfiguration, backend: Backend): () => void {
  if (driver.publishesCapacity === false) return () => {};
  const watched = ["storageclasses", "csistoragecapacities"] as const;
  const queue = agent.queue(watched, async (): Promise<Worked> => {
    const classes = [...agent.informer("storageclasses").values()].filter(
      ({ provisioner }) => provisioner === driver.name,
    );
    let isWhole = true;
    for (const { metadata } of classes) {
      for (const segment of backend.segments()) {
        isWhole =
          (await publishOne(agent, driver, { className: metadata.name, segment, free: backend.free(segment) })) &&
          isWhole;
      }
    }
    const names = new Set(classes.map(({ metadata }) => metadata.name));
    isWhole = (await withdraw(agent, driver.name, names)) && isWhole;
    return isWhole ? { againInMs: driver.pollMs ?? pollMs } : "retry";
  });
  agent.feed("storageclasses", queue, () => ["all"]);
  queue.add("all");
  return () => queue.add("all");
}

/** Objects of classes that are gone. */
async function withdraw(agent: Agent, driver: string, classes: ReadonlySet<string>): Promise<boolean> {
  let isWhole = true;
  for (const { metadata, storageClassName } of [...agent.informer("csistoragecapacities").values()]) {
    if (metadata.labels?.[driverLabel] !== driver || classes.has(storageClassName)) continue;
    const deleted = await agent.client.delete("csistoragecapacities", metadata);
    isWhole = (deleted.ok || deleted.status === 404) && isWhole;
  }
  return isWhole;
}

async function publishOne(
  agent: Agent,
  driver: DriverConfiguration,
  { className, segment, free }: { className: string; segment: string; free: Bytes },
): Promise<boolean> {
  const capacities = agent.informer("csistoragecapacities");
  const labels = { [driverLabel]: driver.name, [managerLabel]: agent.who.replaceAll(":", "-") };
  const key = driver.topologyKey ?? defaultTopologyKey;
  const known = capacities.values().find((object) => {
    const isSame = object.storageClassName === className && object.metadata.labels?.[driverLabel] === driver.name;
    return isSame && matchesLabels(object.nodeTopology, { [key]: segment });
  });
  const capacity = String(free < zero ? zero : free);
  if (known?.capacity === capacity) return true;
  const written = known
    ? await agent.client.update("csistoragecapacities", { ...known, capacity })
    : await agent.client.create("csistoragecapacities", draft());
  if (written.ok && known) capacities.remember(written.value);
  return written.ok || written.reason === "AlreadyExists";

  function draft(): Draft {
    const name = `csisc-${className}-${segment}`.toLowerCase().replaceAll(/[^a-z0-9.-]/g, "-");
    const metadata = { name, namespace: driverNamespace, labels };
    return { metadata, storageClassName: className, nodeTopology: { matchLabels: { [key]: segment } }, capacity };
  }
}
