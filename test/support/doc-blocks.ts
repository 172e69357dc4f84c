/** The pages, and what stands in them that can be run: blocks of code, and commands. */
import { globSync, readFileSync } from "node:fs";

export const pages: readonly string[] = ["README.md", ...globSync(["docs/**/*.md", "manifests/**/*.md"]).sort()];

export interface Block {
  readonly page: string;
  /** Of its first line. */
  readonly line: number;
  /** "" where the block has none. */
  readonly language: string;
  readonly text: string;
}

export function blocksIn(page: string): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of readFileSync(page, "utf8").split("\n").entries()) {
    const fence = /^\s*```(.*)$/.exec(line);
    if (open && fence) {
      blocks.push({ page, line: open.line, language: open.language, text: open.lines.join("\n") });
      open = undefined;
    } else if (fence) open = { language: fence[1] ?? "", line: index + 2, lines: [] };
    else open?.lines.push(line);
  }
  if (open) throw new Error(`${page}:${open.line}: a block that nobody closes`);
  return blocks;
}

export interface Shown {
  /** "docs/verbs.md:12". */
  readonly at: string;
  readonly words: readonly string[];
}

/** Each command of a shell block, with redirections and comments left out. @throws where a line cannot be read */
export function commandsIn({ page, line, text }: Block): Shown[] {
  const whole = text.replaceAll(/ *\\\n\s*/g, " ").replaceAll(/<<'?(\w+)'?.*\n[\s\S]*?\n\1(?=\n|$)/g, "");
  return whole.split("\n").flatMap((written) => commandsOf(written, `${page}:${line}`));
}

/** Commands of Berth's within a sentence. */
export function inlineCommands(page: string): Shown[] {
  const lines = withoutBlocks(readFileSync(page, "utf8")).split("\n");
  return lines.flatMap((line, index) =>
    [...line.matchAll(/`((?:npx )?berth [a-z][^`]*|npm (?:run|test|start|ci)[^`]*|kubectl [^`]*)`/g)].flatMap(
      ([, written = ""]) => commandsOf(written, `${page}:${index + 1}`),
    ),
  );
}

/** The page with its blocks blank, so that lines keep their numbers. */
export function withoutBlocks(page: string): string {
  return page.replaceAll(/^\s*```[\s\S]*?^\s*```$/gm, (block) => block.replaceAll(/[^\n]/g, ""));
}

const token = /'[^']*'|"[^"]*"|&&|\|\|?|;|&|[<>]|#.*|[^\s'"&|;<>]+/g;

function commandsOf(written: string, at: string): Shown[] {
  const commands: string[][] = [[]];
  let isTarget = false;
  for (const [found] of written.matchAll(token)) {
    if (found.startsWith("#")) break;
    if (/^(&&?|\|\|?|;)$/.test(found)) commands.push([]);
    else if (found === "<" || found === ">") isTarget = true;
    else if (isTarget) isTarget = false;
    else commands.at(-1)?.push(found.replaceAll(/^['"]|['"]$/g, ""));
  }
  return commands.filter((words) => words.length > 0).map((words) => ({ at, words }));
}
