/** What the scheduler writes about pods: events, the PodScheduled condition, the nomination, the end of victims. */
import type { Agent } from "../agent.ts";
import { keyOf, type Pod } from "../objects.ts";

export interface FailureReport {
  readonly reason: "Unschedulable" | "SchedulerError";
  readonly message: string;
  /** The node that preemption makes room on; "" where there is none any more; undefined leaves it as it is. */
  readonly nominated: string | undefined;
}

/** Nobody waits for these writes but for evictions: the next cycle starts at once. */
export class Outcomes {
  readonly #agent: Agent;

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  reportBound(pod: Pod, node: string): void {
    const message = `Successfully assigned ${keyOf(pod.metadata)} to ${node}`;
    this.#agent.events.record({ kind: "Pod", object: pod, type: "Normal", reason: "Scheduled", message });
  }

  /** The condition is left alone where it would say the same again: each change of it wakes the pod once more. */
  reportFailure(pod: Pod, { reason, message, nominated }: FailureReport): void {
    const { client, events, runtime } = this.#agent;
    events.record({ kind: "Pod", object: pod, type: "Warning", reason: "FailedScheduling", message });
    const { status } = this.#agent.informer("pods").get(keyOf(pod.metadata)) ?? pod;
    const known = (status?.conditions ?? []).find(({ type }) => type === "PodScheduled");
    const isSaid = known?.status === "False" && known.reason === reason && known.message === message;
    const isNominated = nominated === undefined || (status?.nominatedNodeName ?? "") === nominated;
    if (isSaid && isNominated) return;
    const lastTransitionTime = new Date(runtime.wallTime()).toISOString().replace(/\.\d+Z$/, "Z");
    const condition = { type: "PodScheduled", status: "False", reason, message, lastTransitionTime };
    const patch = {
      metadata: { uid: pod.metadata.uid },
      status: { conditions: [condition], ...(isNominated ? {} : { nominatedNodeName: nominated || null }) },
    };
    void client.patch("pods", pod.metadata, patch, { type: "strategic-merge-patch", subresource: "status" });
  }

  /** Resolves when the API has all deletions: the pod comes back to the queue no earlier. */
  async evict(victims: readonly Pod[], pod: Pod, node: string): Promise<void> {
    const evictOne = async (victim: Pod): Promise<void> => {
      const message = `Preempted by pod ${pod.metadata.uid} on node ${node}`;
      this.#agent.events.record({ kind: "Pod", object: victim, type: "Normal", reason: "Preempted", message });
      await this.#agent.client.delete("pods", victim.metadata, { uid: victim.metadata.uid });
    };
    await Promise.all(victims.map(evictOne));
  }
}
