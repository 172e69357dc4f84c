/** `berth --help`, and what is said to a command that does not exist. */
import { nearestName } from "../scheduling/near-name.ts";

/** @param summaries  one line a command, by its name */
export function helpText(summaries: ReadonlyMap<string, string>): string {
  const width = Math.max(...Array.from(summaries.keys(), (name) => name.length)) + 2;
  const lines = Array.from(summaries, ([name, summary]) => `  ${name.padEnd(width)}${summary}`);
  return `Berth answers kube-scheduler which nodes can hold a Pod's volumes, and binds them.

Usage: berth COMMAND [OPTION]...

${lines.join("\n")}

"berth COMMAND --help" tells more of each.
`;
}

export function unknownCommand(name: string, known: readonly string[]): string {
  const isOption = name.startsWith("-");
  const near = nearestName(name, isOption ? ["--help", "--version"] : known);
  return `${isOption ? `${name} is not an option` : `there is no command "${name}"`}; ${near ? `did you mean "${near}"?` : 'see "berth --help"'}`;
}
