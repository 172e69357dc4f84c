/** Every metric of Berth by its name, with its labels and its help, from where they are defined. */
import { inventoryFamilies } from "../../src/metrics/inventory.ts";
import { createMetrics } from "../../src/metrics.ts";

export interface MetricFacts {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

export function allMetrics(): readonly MetricFacts[] {
  const kept = createMetrics().registry.getMetricsAsArray() as unknown as readonly {
    name: string;
    type: string;
    labelNames: string[];
    help: string;
  }[];
  return [
    ...kept.map(({ name, type, labelNames, help }) => ({ name, type, labels: labelNames, help })),
    ...inventoryFamilies.map(({ name, labels, help }) => ({ name, type: "gauge", labels, help })),
  ];
}
