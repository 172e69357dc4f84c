/** Amounts of CPU, memory and what else nodes have, in thousandths: exact for all that the API can hold. For explanations. */
import { type Bytes, formatBytes } from "./quantity.ts";

/** CPU as "1500m" or "2", memory and storage as "1.5Gi", all else as a number. */
export function amountText(resource: string, thousandths: bigint): string {
  const whole = thousandths / 1_000n;
  const isBytes = resource === "memory" || resource === "ephemeral-storage" || resource.startsWith("hugepages-");
  if (isBytes) return formatBytes(whole as Bytes);
  return thousandths % 1_000n === 0n ? String(whole) : `${thousandths}m`;
}
