/** Tables of a page. */

/** The cells of the rows of the first table whose head begins so. */
export function tableIn(page: string, head: string): string[][] {
  const lines = page.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`| ${head} |`));
  if (start < 0) throw new Error(`no table begins with "${head}"`);
  const rows = lines.slice(start + 2);
  const end = rows.findIndex((line) => !line.startsWith("|"));
  return (end < 0 ? rows : rows.slice(0, end)).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
