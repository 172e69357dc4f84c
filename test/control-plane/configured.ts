/**
 * Scenarios with a configuration of their own: for each a Berth that has it, on one port, and a kube-scheduler for all of them that
 * asks there. Pods that name the plane's scheduler name this one instead.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Raw } from "../support/make.ts";
import { configurationOf } from "../support/scenario.ts";
import { berthCommand, type Facts } from "./control-plane.ts";
import { berthEntries, startKubeScheduler } from "./kube-scheduler.ts";
import { freePorts, Processes } from "./processes.ts";
import type { RealStage } from "./real-stage.ts";

const schedulerName = "configured-scheduler";
const berthProcess = "configured-berth";

export class Configured {
  readonly #facts: Facts;
  readonly #processes: Processes;
  readonly #extender: number;
  readonly #debug: number;

  private constructor(facts: Facts, [extender, debug]: readonly [number, number]) {
    this.#facts = facts;
    this.#processes = new Processes(facts.folder);
    this.#extender = extender;
    this.#debug = debug;
  }

  /** Resolves when its kube-scheduler is ready. */
  static async start(facts: Facts): Promise<Configured> {
    const [extender = 0, debug = 0] = await freePorts(2);
    const made = new Configured(facts, [extender, debug]);
    const { asks, binds } = berthEntries(`http://127.0.0.1:${extender}/v1`);
    try {
      const { programs, folder, kubeconfig } = facts;
      const place = { processes: made.#processes, programs, folder, kubeconfig };
      await startKubeScheduler(place, { schedulerName, extenders: [asks, binds] });
    } catch (error) {
      await made.stop();
      throw error;
    }
    return made;
  }

  /** The stage with a Berth of this configuration, instead of the one before. Resolves when it is ready. */
  async stage(stage: RealStage, name: string, config: Raw): Promise<RealStage> {
    const path = join(this.#facts.folder, `${name}.yaml`);
    const election = { resourceName: `berth-${name}`, ...(config["leaderElection"] as Raw | undefined) };
    writeFileSync(path, configurationOf({ ...config, leaderElection: election }));
    const restart = async (): Promise<void> => {
      await this.#processes.end(berthProcess);
      const command = berthCommand(this.#facts.kubeconfig, this.#extender, this.#debug);
      this.#processes.start(berthProcess, [...command, "--config", path]);
      const ready = `http://127.0.0.1:${this.#debug}/readyz`;
      await this.#processes.comesUp(berthProcess, async () => (await fetch(ready)).status === 200);
    };
    await restart();
    return { ...stage, restart, apply: (object) => stage.apply(forOurScheduler(object)) };
  }

  async stop(): Promise<void> {
    await this.#processes.endAll();
  }
}

function forOurScheduler(object: Raw): Raw {
  const text = JSON.stringify(object);
  return JSON.parse(text.replaceAll('"schedulerName":"berth-scheduler"', `"schedulerName":"${schedulerName}"`)) as Raw;
}
