/** `berth --help`, what is said to a command that does not exist, and how Berth names itself. */
import { nearestName } from "../scheduling/near-name.ts";
import type { TextSink } from "./io.ts";

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

/** kubectl runs whatever is called kubectl-NAME on the PATH as `kubectl NAME`. @see kubectl pkg/cmd/plugin */
const pluginName = /^kubectl-berth\b/;

/** How the program was called, by the name of its file: "berth", or "kubectl berth". */
export function calledAs(file: string): string {
  return pluginName.test(file) ? "kubectl berth" : "berth";
}

/** A sink for help and errors in which "berth COMMAND" reads as it was called. */
export function speakingAs(name: string, commands: Iterable<string>, sink: TextSink): TextSink {
  if (name === "berth") return sink;
  const called = new RegExp(`(?<![\\w/.-])berth (?=(?:COMMAND|--help|${[...commands].join("|")})\\b)`, "g");
  return { write: (text) => sink.write(text.replace(called, `${name} `).replace(/^berth:/, `${name}:`)) };
}
