/** How commands read their options and report what is wrong with them. */
import { type ParseArgsConfig, parseArgs } from "node:util";
import { nearestName } from "../scheduling/near-name.ts";
import { printable, printableJson } from "../scheduling/printable.ts";
import type { CommandIo } from "./io.ts";

/** The exit code for what the caller has to put right. */
export const exitMisuse = 2;

/** Used wrongly, or on input that cannot be read, in one line that says what to do. */
export class Misuse extends Error {}

type Options = NonNullable<ParseArgsConfig["options"]>;
type Values<O extends Options> = ReturnType<typeof parseArgs<{ options: O; allowPositionals: false }>>["values"];

/** @throws Misuse naming the option */
export function parseOptions<const O extends Options>(argv: readonly string[], options: O): Values<O> {
  return parse(argv, options, false).values;
}

/** For commands that take names or files without a flag. @throws Misuse naming the option */
export function parseWithWords<const O extends Options>(
  argv: readonly string[],
  options: O,
): { readonly options: Values<O>; readonly words: readonly string[] } {
  const { values, positionals } = parse(argv, options, true);
  return { options: values, words: positionals };
}

function parse<const O extends Options>(
  argv: readonly string[],
  options: O,
  allowPositionals: boolean,
): { readonly values: Values<O>; readonly positionals: readonly string[] } {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals, strict: true });
  } catch (error) {
    throw new Misuse(sayWhy(error as Error & { code?: string }, argv, Object.keys(options)));
  }
}

function sayWhy(error: Error & { code?: string }, argv: readonly string[], known: readonly string[]): string {
  if (error.code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const written = (word: string): string => word.replace(/^-+/, "").replace(/=.*/s, "");
    const isWrong = (word: string): boolean => word.startsWith("--") && !known.includes(written(word));
    const word = argv.find(isWrong);
    const near = word && nearestName(written(word), known);
    const wrong = word?.replace(/=.*/s, "") ?? /'(-[^']*)'/.exec(error.message)?.[1] ?? error.message;
    return `${wrong} is not an option; ${near ? `did you mean "--${near}"?` : 'see "--help"'}`;
  }
  return (error.message.split(/\.?\n|\. /)[0] ?? "").trim();
}

/** What `-o` names. @throws Misuse */
export function readOutput<const T extends string>(written: string, forms: readonly T[]): T {
  const form = forms.find((one) => one === written);
  if (form !== undefined) return form;
  throw new Misuse(`-o ${written}: use ${forms.map((one) => `"${one}"`).join(" or ")}`);
}

/** For `-o json`: a value that JSON has, for terminals too. */
export function jsonText(value: unknown): string {
  return `${printableJson(JSON.stringify(value, null, 2))}\n`;
}

/** Runs a command's body; what it reports as misuse becomes one line on stderr. */
export async function runCommand(name: string, io: CommandIo, body: () => Promise<number>): Promise<number> {
  try {
    return await body();
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    io.stderr.write(`berth ${name}: ${printable(error.message.replaceAll("\n", " "))}\n`);
    return exitMisuse;
  }
}
