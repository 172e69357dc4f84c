/** The tables of docs/monitoring.md, from what is there. */
import type { MetricFacts } from "./metrics.ts";
import type { AlertRule } from "./rules.ts";

export function metricRows(metrics: readonly MetricFacts[]): readonly string[] {
  return metrics.map(({ name, type, labels, help }) => `| \`${name}\` | ${type} | ${labels.join(", ")} | ${help} |`);
}

export function alertRows(rules: readonly AlertRule[]): readonly string[] {
  return rules.map(({ alert, for: waits = "at once", labels, annotations }) => {
    const summary = annotations.summary.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) =>
      name.toUpperCase(),
    );
    return `| \`${alert}\` | ${labels.severity} | ${waits} | ${summary} |`;
  });
}
