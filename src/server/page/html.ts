/** HTML that is safe by construction: whatever is put into a template is escaped, unless it is itself of this file's making. */

const own = Symbol("html");

/** Made by `html` alone, so that no text passes for markup. */
export class Html {
  readonly #text: string;

  /** @throws Error for whoever has no key: what others have is text */
  constructor(key: typeof own, text: string) {
    if (key !== own) throw new Error("HTML is made by templates alone");
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** What a template takes; undefined and false leave nothing. */
export type Piece = string | number | Html | undefined | false | readonly Piece[];

/**
 * A template's literal parts are markup, what stands between them is text, or was made here. Text may stand between tags and in
 * double quotes; anywhere else no escaping helps, and a template that has it there is a mistake of ours.
 */
export function html(literals: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  let text = literals[0] ?? "";
  for (const [index, piece] of pieces.entries()) {
    checkPlace(literals.slice(0, index + 1).join("x"), piece);
    text += render(piece) + (literals[index + 1] ?? "");
  }
  return new Html(own, text);
}

/** Attributes that browsers run, or follow. */
const risky = /\s(on\w+|style|srcdoc|src|action|formaction)="[^"]*$/i;
const link = /\shref="[^"]*$/i;
/** Does not leave this listener's pages, whatever follows. */
const local = /\shref="\/debug\/[^"]*$/i;

/** @throws Error where what is put in would be read as anything but text */
function checkPlace(before: string, piece: Piece): void {
  if (!isSafe(before, piece)) throw new Error(`nothing may be put in here: ${before.slice(-40)}`);
}

function isSafe(before: string, piece: Piece): boolean {
  const isInTag = before.lastIndexOf("<") > before.lastIndexOf(">");
  if (!isInTag) return !/<(script|style)\b[^>]*>[^<]*$/i.test(before);
  const isInQuotes = /=\s*"[^"]*$/.test(before);
  if (isInQuotes) return typeof piece !== "object" && !risky.test(before) && (!link.test(before) || local.test(before));
  // Whole attributes are HTML of our own; a tag's name and attributes without quotes are nobody's to fill in.
  return before.endsWith(" ") && (piece instanceof Html || piece === undefined || piece === false);
}

function render(piece: Piece): string {
  if (piece === undefined || piece === false) return "";
  if (piece instanceof Html) return piece.toString();
  if (Array.isArray(piece)) return piece.map(render).join("");
  return escapeText(String(piece));
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/**
 * Control characters, and those that turn the direction of what follows, are shown as �: a name must not look like another, nor
 * change how its neighbours read.
 */
const unprintable = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function escapeText(text: string): string {
  return text
    .toWellFormed()
    .replace(unprintable, "\ufffd")
    .replace(/[&<>"']/g, (character) => entities[character] ?? "");
}
