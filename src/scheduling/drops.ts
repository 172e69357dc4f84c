/**
 * How far what is published of a pool drops while demands are in flight, and which of them a drop settles (decision 11).
 *
 * A drop can be of any demand that was promised before it, and of one only. Each demand counts the drops since it was promised that
 * no other has used up; of these the oldest are used first, for they can be of the fewest demands.
 */
import { addBytes, type Bytes, subtractBytes } from "./quantity.ts";

export interface InFlight {
  readonly bytes: Bytes;
  /** How far the published value dropped since the promise, less what settled others. */
  dropped: Bytes;
}

export function drop(demands: Iterable<InFlight>, bytes: Bytes): void {
  for (const demand of demands) demand.dropped = addBytes(demand.dropped, bytes);
}

/** Whether what was published can have the demand's volume in it. Of a pool that publishes all it has nothing ever drops. */
export function isCovered({ bytes, dropped }: InFlight): boolean {
  return dropped >= bytes;
}

/**
 * Uses up as many bytes as the demand has.
 *
 * @param demands  all of the pool, in the order of their promises
 * @param demand   one that is covered
 */
export function useDrop(demands: Iterable<InFlight>, demand: InFlight): void {
  const left = subtractBytes(demand.dropped, demand.bytes);
  let isEarlier = true;
  for (const other of demands) {
    if (other === demand) isEarlier = false;
    else if (isEarlier) other.dropped = subtractBytes(other.dropped, demand.bytes);
    else if (other.dropped > left) other.dropped = left;
  }
}
