/** Output in the docs that a test holds to what is really printed. `WRITE_SAMPLES=1` writes it anew. */
import { readFileSync, writeFileSync } from "node:fs";

/** The block after `<!-- sample: NAME -->` of a page; `printed` takes its place first where samples are written anew. */
export function sampleIn(page: string, name: string, printed: string): string {
  const text = readFileSync(page, "utf8");
  const start = text.indexOf(`<!-- sample: ${name} -->\n`);
  if (start < 0) throw new Error(`${page} has no sample "${name}"`);
  const from = text.indexOf("\n", text.indexOf("```", start)) + 1;
  const to = text.indexOf("```", from);
  if (process.env["WRITE_SAMPLES"] === undefined) return text.slice(from, to);
  writeFileSync(page, text.slice(0, from) + printed + text.slice(to));
  return printed;
}
