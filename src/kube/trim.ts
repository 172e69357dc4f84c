/**
 * Leaves out of JSON text what is a large part of many objects and nobody here reads: to find its end costs a fraction of what
 * parsing it would, and it is no garbage then. A list of PersistentVolumes becomes about a third cheaper to parse.
 */

/** As servers write them, one key after another without blanks; elsewhere nothing is left out. */
const bulky = [',"managedFields":[', ',"images":['];

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** `json` without the arrays of these keys. Of what is no JSON only a fault within such an array may go unseen. */
export function withoutBulk(json: string): string {
  return bulky.reduce(withoutArrays, json);
}

/** Quotes within a text are escaped, so what looks like a key is one. */
function withoutArrays(json: string, key: string): string {
  let at = json.indexOf(key);
  if (at < 0) return json;
  const kept: string[] = [];
  let from = 0;
  while (at >= 0) {
    const end = endOfArray(json, at + key.length - 1);
    if (end < 0) break;
    kept.push(json.slice(from, at));
    from = end;
    at = json.indexOf(key, from);
  }
  kept.push(json.slice(from));
  return kept.join("");
}

/** Behind the array that begins at `start`; -1 where it has no end. */
function endOfArray(json: string, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === quote) {
      at = endOfText(json, at);
      if (at < 0) return -1;
    } else if (code === openBracket || code === openBrace) depth++;
    else if (code === closeBracket || code === closeBrace) {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

/** The closing quote of the text that opens at `start`; -1 where there is none. */
function endOfText(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let escapes = end;
    while (json.charCodeAt(escapes - 1) === backslash) escapes--;
    if ((end - escapes) % 2 === 0) return end;
  }
  return -1;
}
