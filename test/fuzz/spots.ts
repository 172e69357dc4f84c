/** JSON text with the place of each value in it: a mutation is then a cut and a paste, and costs no second encoding. */
export interface Spot {
  /** "Pod.spec.volumes.0.name". */
  readonly path: string;
  /** Where the member begins, key included; of an element and of the whole, where its value does. */
  readonly from: number;
  /** Where its value begins and ends. */
  readonly at: number;
  readonly end: number;
  /** What goes with it when it is taken out: one of the commas beside it. */
  readonly cutFrom: number;
  readonly cutTo: number;
  readonly isMember: boolean;
  readonly isContainer: boolean;
}

export interface SpottedText {
  readonly text: string;
  /** The whole first, then in the order of the text. */
  readonly spots: readonly Spot[];
}

/** Replaces what stands from `at` to `end`. */
export interface Splice {
  readonly at: number;
  readonly end: number;
  readonly text: string;
}

export function spotted(value: unknown): SpottedText {
  const writer = new Writer();
  writer.write(value, "", { from: 0, cutFrom: 0, isMember: false });
  return { text: writer.text, spots: writer.spots };
}

/** Splices that overlap an earlier one are left out. */
export function spliced(text: string, splices: readonly Splice[]): string {
  let out = "";
  let at = 0;
  for (const splice of [...splices].sort((a, b) => a.at - b.at)) {
    if (splice.at < at) continue;
    out += text.slice(at, splice.at) + splice.text;
    at = splice.end;
  }
  return out + text.slice(at);
}

interface Place {
  readonly from: number;
  readonly cutFrom: number;
  readonly isMember: boolean;
}

class Writer {
  text = "";
  readonly spots: Spot[] = [];

  write(value: unknown, path: string, { from, cutFrom, isMember }: Place): void {
    const at = this.text.length;
    const isContainer = typeof value === "object" && value !== null;
    const place = this.spots.push({ path, from, at, end: at, cutFrom, cutTo: at, isMember, isContainer }) - 1;
    if (Array.isArray(value)) this.#children(value.entries(), path, "[]");
    else if (isContainer) this.#children(Object.entries(value), path, "{}");
    else this.text += JSON.stringify(value);
    const end = this.text.length;
    this.spots[place] = { path, from, at, end, cutFrom, cutTo: end, isMember, isContainer };
  }

  #children(children: Iterable<readonly [string | number, unknown]>, path: string, brackets: "[]" | "{}"): void {
    this.text += brackets.charAt(0);
    let first: number | undefined;
    let count = 0;
    for (const [key, value] of children) {
      const cutFrom = this.text.length;
      if (count++ > 0) this.text += ",";
      const from = this.text.length;
      if (typeof key === "string") this.text += `${JSON.stringify(key)}:`;
      first ??= this.spots.length;
      this.write(value, path === "" ? `${key}` : `${path}.${key}`, { from, cutFrom, isMember: brackets === "{}" });
    }
    // The first of several takes the comma behind it along.
    const spot = first === undefined ? undefined : this.spots[first];
    if (spot && first !== undefined && count > 1) this.spots[first] = { ...spot, cutTo: spot.end + 1 };
    this.text += brackets.charAt(1);
  }
}
