/**
 * The inventory for whoever scrapes: taken in slices, so that no call of kube-scheduler waits for it, and once for all who ask
 * within a few seconds.
 */
import { Pace, type Strides } from "../cluster/pace.ts";
import { inventoryText, nodesTextInSteps } from "../metrics/inventory.ts";
import type { Milliseconds, Runtime } from "../runtime/runtime.ts";
import { inventoryInSteps, nodeStocksInSteps } from "../scheduling/inventory.ts";
import type { ClusterState } from "../scheduling/state.ts";
import type { Parts } from "./parts.ts";

const freshForMs: Milliseconds = 5_000;
/** Prometheus waits ten seconds by default. Under load the counters are worth more than a new look at what there is. */
const patienceMs: Milliseconds = 3_000;
/** A step is some microseconds. */
const strides: Strides = { sliceMs: 2, stepsPerLook: 64, stepsMax: 4_096 };

export class InventoryPage {
  readonly #runtime: Runtime;
  readonly #pace: Pace;
  readonly #state: ClusterState;
  readonly #options: Parts["config"]["metrics"];
  #text = "";
  #takenAt: Milliseconds | undefined;
  #underway: Promise<void> | undefined;

  constructor({ runtime, cluster, config }: Pick<Parts, "runtime" | "cluster" | "config">) {
    this.#runtime = runtime;
    this.#pace = new Pace(runtime, strides);
    this.#state = cluster.state;
    this.#options = config.metrics;
  }

  /** In Prometheus' text format. Of the last look, where a new one does not end in time; empty before the first. */
  async text(): Promise<string> {
    const age = this.#takenAt === undefined ? Number.POSITIVE_INFINITY : this.#runtime.now() - this.#takenAt;
    if (age >= freshForMs) {
      this.#underway ??= this.#take().finally(() => {
        this.#underway = undefined;
      });
      const done = new AbortController();
      await Promise.race([this.#underway, this.#runtime.sleep(patienceMs, done.signal)]);
      done.abort();
    }
    return this.#text;
  }

  async #take(): Promise<void> {
    const { classesMax, perNode } = this.#options;
    const inventory = await this.#run(inventoryInSteps(this.#state, classesMax));
    const nodes = perNode ? await this.#run(nodeStocksInSteps(this.#state, classesMax)) : undefined;
    this.#text = inventoryText(inventory) + (nodes ? await this.#run(nodesTextInSteps(nodes)) : "");
    this.#takenAt = this.#runtime.now();
  }

  async #run<T>(steps: Generator<undefined, T>): Promise<T> {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      const rest = this.#pace.step();
      if (rest) await rest;
    }
  }
}
