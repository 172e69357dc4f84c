/** Text in lines that a terminal shows whole. */
import { printable } from "../scheduling/printable.ts";

export const columns = 100;

/**
 * Breaks a sentence at blanks, and a word only where it is longer than a line. What a terminal would obey is written out.
 *
 * @param indent   before the first line
 * @param further  before the others
 */
export function wrap(text: string, indent = "", further = `${indent}  `): string[] {
  const lines: string[] = [];
  let line = indent;
  let isEmpty = true;
  for (let word of printable(text).split(" ")) {
    for (;;) {
      const room = columns - line.length - (isEmpty ? 0 : 1);
      if (word.length <= room) break;
      if (isEmpty) {
        lines.push(line + word.slice(0, room));
        word = word.slice(room);
      } else lines.push(line);
      line = further;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  lines.push(line);
  return lines.map((one) => one.trimEnd());
}
