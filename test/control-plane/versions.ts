/** What differs from one version of Kubernetes to the next: tests say it version by version. */
import type { Facts } from "./control-plane.ts";

/** By minor version; what holds for one holds until the next that is named. */
export type ByVersion<T> = Readonly<Record<`1.${number}`, T>>;

/** @throws Error for a version older than all that are named */
export function forVersion<T>({ version }: Pick<Facts, "version">, table: ByVersion<T>): T {
  const minorOf = (text: string): number => Number(text.split(".")[1]);
  const named = Object.entries(table).sort(([one], [other]) => minorOf(other) - minorOf(one));
  const found = named.find(([since]) => minorOf(since) <= minorOf(version));
  if (!found) throw new Error(`the test does not say what Kubernetes ${version} does`);
  return found[1];
}
