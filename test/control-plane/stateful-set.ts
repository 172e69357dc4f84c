/** A StatefulSet for the real controller: each replica with one claim of the template, named "data". */
import type { Raw } from "../support/make.ts";

interface Options {
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
  /** Spec of the claims. */
  readonly template: Raw;
  /** Left out, its Pods are the default scheduler's. */
  readonly schedulerName?: string;
}

export function statefulSet({ namespace, name, replicas, template, schedulerName }: Options): Raw {
  const labels = { app: name };
  const pod = {
    ...(schedulerName !== undefined && { schedulerName }),
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: "registry.example.com/main:1" }],
  };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name, namespace },
    spec: {
      serviceName: name,
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: pod },
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: template }],
    },
  };
}
