/** Carries out what a plan says that happens to processes and to the wires between them. */
import type { ControllerName } from "../../src/sandbox/sandbox.ts";
import type { Act } from "./plan.ts";
import type { Replica } from "./replica.ts";
import type { World } from "./world.ts";

const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth";

export class Processes {
  readonly #world: World;
  /** Controllers that no earlier deed brings back. */
  readonly #awayUntil = new Map<ControllerName, number>();

  constructor(world: World) {
    this.#world = world;
  }

  act(act: Act): void {
    const { sandbox, network, server } = this.#world;
    switch (act.do) {
      case "forget history":
        sandbox.api.forgetHistory();
        return;
      case "close watches":
        sandbox.api.closeWatches();
        return;
      case "delay watch":
        network.delay("berth", `/api/v1/${act.of}`, act.ms);
        return;
      case "restart scheduler":
        this.#world.startScheduler();
        return;
      case "cut calls":
        network.cutUnheard("scheduler");
        network.lose("scheduler", "/bind", act.lostMs);
        return;
      case "stop controller":
        this.#stopController(act);
        return;
      case "delete lease":
        void server.write("operator", "DELETE", lease);
        return;
      case "crash berth":
        this.#replica(act.pick).crashAfter(act.touches);
        this.#world.startLater(this.#replica(act.pick), act.backAfterMs);
        return;
      case "stop berth":
        this.#replica(act.pick).stop();
        this.#world.startLater(this.#replica(act.pick), act.backAfterMs);
        return;
      case "jump clock":
        this.#replica(act.pick).jump(act.ms);
        return;
      default:
        throw new Error(`nobody can ${act.do}`);
    }
  }

  #stopController({ name, backAfterMs, isFirm }: Extract<Act, { do: "stop controller" }>): void {
    const { clock, sandbox } = this.#world;
    if (isFirm) this.#awayUntil.set(name, clock.now + backAfterMs);
    sandbox.stopController(name);
    this.#world.later(backAfterMs, () => {
      if (clock.now >= (this.#awayUntil.get(name) ?? 0)) void sandbox.startController(name);
    });
  }

  #replica(pick: number): Replica {
    const { replicas } = this.#world;
    return replicas[pick % replicas.length] as Replica;
  }
}
