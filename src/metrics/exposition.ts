/**
 * Gauges that are written out at one go, in Prometheus' text format: for numbers that are all taken anew for a scrape. A registry
 * would keep each of them, and write all of them in one turn.
 *
 * @see prometheus.io/docs/instrumenting/exposition_formats
 */

export interface GaugeFamily {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** The lines that come before a family's samples. */
export function headOf({ name, help }: GaugeFamily): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`;
}

/** One sample; `values` are those of the family's labels, in their order. */
export function sampleOf({ name, labels }: GaugeFamily, values: readonly string[], value: number | bigint): string {
  const pairs = labels.map((label, index) => `${label}="${escaped(values[index] ?? "")}"`);
  // 2^53 bytes are 8 PiB: beyond that a float's digits are enough.
  return `${name}{${pairs.join(",")}} ${Number(value)}\n`;
}

function escaped(value: string): string {
  return /[\\"\n]/.test(value) ? value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n") : value;
}
