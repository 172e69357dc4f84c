/** A whole cluster in memory: the API server, the controllers that Berth's work depends on, a scheduler. */
import type { Exchange, Runtime } from "../runtime/runtime.ts";
import { Agent } from "./agent.ts";
import { findResource, groupVersionOf, type Resource, resources } from "./api/resources.ts";
import { ApiServer, type ApiServerOptions } from "./api-server.ts";
import type { DriverConfiguration } from "./backend.ts";
import { textOf } from "./client.ts";
import { isSandboxConfiguration, parseSandboxConfiguration } from "./configuration.ts";
import { startEphemeralController } from "./ephemeral-controller.ts";
import { startGarbageCollector } from "./garbage-collector.ts";
import { type KubeletOptions, startKubelet } from "./kubelet.ts";
import { type LocalDisk, startLocalDisks } from "./local-disks.ts";
import { Provisioner } from "./provisioner.ts";
import { PvController } from "./pv-controller.ts";
import type { ExtenderEntry } from "./scheduler/extender.ts";
import { Scheduler, type SchedulerOptions } from "./scheduler/scheduler.ts";
import { startStatefulSetController } from "./statefulset-controller.ts";

/** The controllers of kube-controller-manager and the kubelet, by their names as clients of the API. */
const starts = {
  "pv-controller": (agent: Agent) => new PvController(agent),
  "ephemeral-controller": (agent: Agent) => startEphemeralController(agent),
  "statefulset-controller": (agent: Agent) => startStatefulSetController(agent),
  "garbage-collector": (agent: Agent) => startGarbageCollector(agent),
  kubelet: (agent: Agent, options: SandboxOptions) => startKubelet(agent, options.kubelet),
};
export type ControllerName = keyof typeof starts;
const controllerNames = Object.keys(starts) as readonly ControllerName[];

export interface SandboxOptions {
  readonly runtime: Runtime;
  readonly extenders?: readonly ExtenderEntry[];
  /** `false` for a cluster without a scheduler, which something else then is; or the scheduler's own options. */
  readonly scheduler?: boolean | Omit<SchedulerOptions, "extenders">;
  /** Those set to false do not run. */
  readonly controllers?: Readonly<Partial<Record<ControllerName, boolean>>>;
  readonly kubelet?: KubeletOptions;
  readonly drivers?: readonly DriverConfiguration[];
  readonly disks?: readonly LocalDisk[];
  /** What each client of the API reaches it through; the place to put delay, loss and partitions in between. */
  readonly wrap?: (who: string, exchange: Exchange) => Exchange;
  readonly server?: Partial<Omit<ApiServerOptions, "runtime">>;
}

/** An object that the API server did not take. */
export class ApplyError extends Error {}

type Manifest = Readonly<Record<string, unknown>>;

export class Sandbox {
  readonly api: ApiServer;
  readonly #options: SandboxOptions;
  readonly #agents = new Set<Agent>();
  readonly #controllers = new Map<ControllerName, Agent>();
  readonly #provisioners = new Map<string, Provisioner>();
  #disks = 0;
  #scheduler: Scheduler | undefined;
  #schedulerAgent: Agent | undefined;

  constructor(options: SandboxOptions) {
    const { runtime, server, controllers = {} } = options;
    this.#options = options;
    const isProtected = controllers["pv-controller"] !== false;
    this.api = new ApiServer({ runtime, protectsVolumes: isProtected, ...server });
    for (const name of controllerNames) if (controllers[name] !== false) this.startController(name);
    for (const driver of options.drivers ?? []) this.addDriver(driver);
    if (options.disks?.length) this.addDisks(options.disks);
    if (options.scheduler !== false) this.startScheduler(options.extenders ?? []);
  }

  get scheduler(): Scheduler | undefined {
    return this.#scheduler;
  }

  /** A client of its own for `who`, wrapped as all clients are. Stopped with the sandbox, or earlier by its own `stop`. */
  startAgent(who: string): Agent {
    const { runtime, wrap } = this.#options;
    const exchange = wrap ? wrap(who, this.api.exchange) : this.api.exchange;
    const agent = new Agent({ who, exchange, runtime });
    this.#agents.add(agent);
    agent.signal.addEventListener("abort", () => this.#agents.delete(agent), { once: true });
    return agent;
  }

  /** Starts the controller; if it runs already this is a restart, with empty caches and nothing remembered. */
  startController(name: ControllerName): Agent {
    this.stopController(name);
    const agent = this.startAgent(name);
    this.#controllers.set(name, agent);
    starts[name](agent, this.#options);
    return agent;
  }

  stopController(name: ControllerName): void {
    this.#controllers.get(name)?.stop();
  }

  /**
   * For a cluster made without a scheduler, because extenders often want to know the API's address first; or a restart, which
   * forgets queue, backoffs and assumed pods.
   */
  startScheduler(extenders: readonly ExtenderEntry[], options: Omit<SchedulerOptions, "extenders"> = {}): Scheduler {
    const { scheduler } = this.#options;
    const own = typeof scheduler === "object" ? scheduler : {};
    this.#schedulerAgent?.stop();
    this.#schedulerAgent = this.startAgent("scheduler");
    this.#scheduler = new Scheduler(this.#schedulerAgent, { ...own, ...options, extenders });
    return this.#scheduler;
  }

  addDriver(driver: DriverConfiguration): Provisioner {
    const provisioner = new Provisioner(this.startAgent(`provisioner:${driver.name}`), driver);
    this.#provisioners.set(driver.name, provisioner);
    return provisioner;
  }

  provisioner(driver: string): Provisioner | undefined {
    return this.#provisioners.get(driver);
  }

  addDisks(disks: readonly LocalDisk[]): void {
    startLocalDisks(this.startAgent(`local-disks${this.#disks++ || ""}`), disks);
  }

  /**
   * Creates the objects, or changes those that are there, in the order given. Namespaced ones without a namespace go to
   * "default"; a SandboxConfiguration adds its drivers and disks.
   *
   * @throws ApplyError, ConfigurationError
   */
  async apply(objects: Iterable<Manifest>): Promise<void> {
    for (const object of objects) {
      if (isSandboxConfiguration(object)) {
        const { drivers, disks } = parseSandboxConfiguration(object);
        for (const driver of drivers) this.addDriver(driver);
        if (disks.length > 0) this.addDisks(disks);
      } else await this.#applyOne(object);
      // A file of many objects must not keep those who watch from seeing the first ones.
      await this.#options.runtime.yield();
    }
  }

  async #applyOne(object: Manifest): Promise<void> {
    const resource = resourceOf(object);
    const { name = "", namespace = "default" } = (object["metadata"] ?? {}) as { name?: string; namespace?: string };
    const root = resource.group === "" ? `/api/${resource.version}` : `/apis/${groupVersionOf(resource)}`;
    const path = `${root}${resource.namespaced ? `/namespaces/${namespace}` : ""}/${resource.plural}`;
    const made = await this.#write("POST", path, object, "application/json");
    if (made.status < 300) return;
    const patched =
      made.status === 409
        ? await this.#write("PATCH", `${path}/${name}`, object, "application/merge-patch+json")
        : made;
    if (patched.status < 300) return;
    throw new ApplyError(`${resource.kind} ${name}: ${patched.message}`);
  }

  async #write(
    method: string,
    path: string,
    object: Manifest,
    type: string,
  ): Promise<{ status: number; message: string }> {
    const headers = { "content-type": type, "user-agent": "sandbox-apply" };
    const request = { method, path, headers, body: JSON.stringify(object) };
    const reply = await this.api.exchange(request, new AbortController().signal);
    const { message = "" } = JSON.parse(await textOf(reply.body)) as { message?: string };
    return { status: reply.status, message };
  }

  /**
   * Whether nobody has anything to do now. What waits for a time (a backoff, a poll, a retry) does not count, nor does a
   * change on its way to a watcher: under a virtual clock let promises settle before asking.
   */
  get isIdle(): boolean {
    return (this.#scheduler?.isIdle ?? true) && [...this.#agents].every(({ isIdle }) => isIdle);
  }

  /** Ends every controller and every watch; nothing of the sandbox waits for time after that. */
  stop(): void {
    for (const agent of [...this.#agents]) agent.stop();
    this.api.closeWatches();
  }
}

function resourceOf({ apiVersion, kind }: Manifest): Resource {
  const [version = "", group = ""] = String(apiVersion ?? "")
    .split("/")
    .reverse();
  const found = resources.find(
    (resource) => resource.kind === kind && resource.group === group && resource.version === version,
  );
  const resource = found && findResource(group, version, found.plural);
  if (!resource) throw new ApplyError(`the sandbox has no kind "${String(kind)}" in "${String(apiVersion)}"`);
  return resource;
}
