/** Events about objects, as client-go's recorder writes them: what is said again is counted, not repeated. */
import type { Runtime } from "../runtime/runtime.ts";
import type { ApiClient } from "./client.ts";
import type { KubeObject } from "./objects.ts";

export interface Remark {
  readonly kind: "Pod" | "PersistentVolume" | "PersistentVolumeClaim" | "StatefulSet" | "Node";
  readonly object: KubeObject;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** The API cuts nothing: kube-scheduler and the recorder keep messages to this length themselves. */
const messageLengthMax = 1024;
const remembered = 1000;

export class EventRecorder {
  readonly #client: ApiClient;
  readonly #runtime: Runtime;
  readonly #who: string;
  readonly #written = new Map<string, { name: string; count: number }>();

  constructor({ client, runtime, who }: { client: ApiClient; runtime: Runtime; who: string }) {
    this.#client = client;
    this.#runtime = runtime;
    this.#who = who;
  }

  /** Best effort: nobody waits for an event, and a lost one is not written again. */
  record({ kind, object, type, reason, message }: Remark): void {
    const { name, namespace = "default", uid, resourceVersion } = object.metadata;
    const text = message.length > messageLengthMax ? `${message.slice(0, messageLengthMax - 4)} ...` : message;
    const key = `${uid}|${reason}|${text}`;
    const time = new Date(this.#runtime.wallTime()).toISOString().replace(/\.\d+Z$/, "Z");
    const known = this.#written.get(key);
    if (known) {
      known.count++;
      void this.#client.patch("events", { namespace, name: known.name }, { count: known.count, lastTimestamp: time });
      return;
    }
    const event = { name: `${name}.${this.#runtime.uuid().replaceAll("-", "").slice(-16)}`, count: 1 };
    this.#written.set(key, event);
    for (const oldest of this.#written.keys()) {
      if (this.#written.size <= remembered) break;
      this.#written.delete(oldest);
    }
    const apiVersion = kind === "StatefulSet" ? "apps/v1" : "v1";
    const draft = {
      metadata: { name: event.name, namespace },
      involvedObject: { kind, apiVersion, name, namespace: object.metadata.namespace ?? "", uid, resourceVersion },
      ...{ type, reason, message: text, count: 1, firstTimestamp: time, lastTimestamp: time },
      source: { component: this.#who },
      reportingComponent: this.#who,
    };
    void this.#client.create("events", draft);
  }
}
