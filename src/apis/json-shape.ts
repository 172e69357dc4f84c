/** Large JSON that no peer of ours would send, told before it is parsed: brackets alone can take fifty times their size in memory. */
const quote = 0x22;
const backslash = 0x5c;

/** Smaller bodies are parsed as they come: the worst of them costs tens of milliseconds. */
const smallBytes = 1 << 20;
/** Go's own decoder ends at 10,000; no object of Kubernetes comes near this. */
const depthMax = 1_000;
/** Objects and arrays: a whole Node has one in 30 bytes or more. */
const bytesPerContainerMin = 8;

/** Undefined where the bytes may be parsed. Whether they are JSON is not asked here. */
export function shapeProblem(json: Buffer): string | undefined {
  if (json.length <= smallBytes) return undefined;
  const containersMax = json.length / bytesPerContainerMin;
  let depth = 0;
  let containers = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) at = endOfString(json, at);
    else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > depthMax) return `the body is nested deeper than ${depthMax}`;
      if (++containers > containersMax) return "the body has too many objects and lists for its size";
    } else if (byte === 0x5d || byte === 0x7d) depth--;
  }
  return undefined;
}

/** Where its closing quote is, or the end. */
function endOfString(json: Buffer, from: number): number {
  let at = from + 1;
  while (at < json.length && json[at] !== quote) at += json[at] === backslash ? 2 : 1;
  return at;
}
