/** resourceVersions, which are opaque but for this: those of one cluster are integers that grow with every write. */

/** Whether `a` was written after `b`; undefined where either is no integer, and nobody can say. */
export function isLaterVersion(a: string, b: string): boolean | undefined {
  const integer = /^\d{1,30}$/;
  return integer.test(a) && integer.test(b) ? BigInt(a) > BigInt(b) : undefined;
}
