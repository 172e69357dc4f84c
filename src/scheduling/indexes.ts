/** Maps of sets, the building block of every index, and maps that forget. */

/** The set under `key`, made when there is none. */
export function setIn<K, V>(index: Map<K, Set<V>>, key: K): Set<V> {
  const known = index.get(key);
  if (known) return known;
  const made = new Set<V>();
  index.set(key, made);
  return made;
}

/** The map under `key`, made when there is none. */
export function mapIn<K, L, V>(index: Map<K, Map<L, V>>, key: K): Map<L, V> {
  const known = index.get(key);
  if (known) return known;
  const made = new Map<L, V>();
  index.set(key, made);
  return made;
}

/** Takes a value out of the set under `key`; an empty set is dropped. */
export function deleteIn<K, V>(index: Map<K, Set<V>>, key: K, value: V): void {
  const set = index.get(key);
  if (set?.delete(value) && set.size === 0) index.delete(key);
}

/** Adds to a count; one that reaches zero is dropped. */
export function count<K>(counts: Map<K, number>, key: K, by: number): void {
  const total = (counts.get(key) ?? 0) + by;
  if (total === 0) counts.delete(key);
  else counts.set(key, total);
}

/** Sets the value as the newest; of more than `max` the oldest goes. */
export function setNewest<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
