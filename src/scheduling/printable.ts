/** Texts that others wrote, for terminals: names and labels that did not come through an API server may hold anything. */

/** Control characters, those that turn the direction of text or are not seen at all, line and paragraph ends, lone surrogates. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu;

/** The text on one line, with every character that a terminal would obey written as "\u{1b}". */
export function printable(text: string): string {
  return text.replace(unprintable, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** JSON, as `JSON.stringify` writes it: the same value, with what a terminal would obey as "\u001b". */
export function printableJson(json: string): string {
  const code = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json.replace(unprintable, (character) =>
    character === "\n" ? character : character.split("").map(code).join(""),
  );
}
