import { printable } from "../scheduling/printable.ts";

/** Columns of text, aligned with two spaces between them, as kubectl prints tables. Names do nothing to the terminal. */
export function printTable(head: readonly string[], texts: readonly (readonly string[])[]): string {
  const rows = texts.map((row) => row.map(printable));
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  return [head, ...rows]
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "))
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}
