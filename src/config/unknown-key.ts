/** What is said to a key that there is not. */
import { nearestName } from "../scheduling/near-name.ts";
import type { Section } from "./sections.ts";

/** A key of an inner section. */
export interface Place {
  readonly key: string;
  /** Such as "binding". */
  readonly section: string;
}

export function placesOf(section: Section, title = ""): readonly Place[] {
  return Object.entries(section).flatMap(([key, entry]) => {
    const own = title === "" ? [] : [{ key, section: title }];
    return "section" in entry ? [...own, ...placesOf(entry.section, title === "" ? key : `${title}.${key}`)] : own;
  });
}

/** Longer names are neither shown whole nor compared. */
export const nameLengthMax = 60;
/** More would be no help. */
const meantMax = 3;

/**
 * @param known   what the mapping may have
 * @param places  keys of all sections
 */
export function unknownKey(name: string, known: readonly string[], places: readonly Place[]): string {
  const meant = name.length > nameLengthMax ? [] : meantBy(name, known, places);
  if (meant.length > 0) return `is not a known key; did you mean ${meant.join(" or ")}?`;
  return `is not a known key; known are ${known.join(", ")}`;
}

function meantBy(name: string, known: readonly string[], places: readonly Place[]): string[] {
  const quoted = (key: string): string => JSON.stringify(key);
  const near = nearestName(name, known);
  const elsewhere = places.filter(({ key, section }) => key === name || `${section}.${key}` === name);
  if (near !== undefined || elsewhere.length > 0) {
    return [...(near === undefined ? [] : [quoted(near)]), ...elsewhere.map(inPlace)];
  }
  const parts = known.filter((key) => shares(name.toLowerCase(), key.toLowerCase()));
  if (parts.length > 0 && parts.length <= meantMax) return parts.map(quoted);
  // "bindTimeout" for timeout in binding.
  const joined = new Map(places.map((place) => [`${place.section}${place.key}`, place]));
  const place = joined.get(nearestName(name, [...joined.keys()]) ?? "");
  return place ? [inPlace(place)] : [];
}

function inPlace({ key, section }: Place): string {
  return `${JSON.stringify(key)} in ${section}`;
}

/** "cert" for certFile, "timeoutSeconds" for timeout. */
function shares(name: string, key: string): boolean {
  return (name.length > 1 && key.includes(name)) || (key.length > 2 && name.includes(key));
}
