/** What processes cost, as Linux counts it. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/**
 * Seconds of CPU, user and system, all threads, that each process has had since it began; by name. Needs Linux.
 *
 * @see proc_pid_stat(5), fields utime and stime
 */
export function cpuSeconds(pids: Readonly<Record<string, number>>): Record<string, number> {
  const perSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
  return Object.fromEntries(
    Object.entries(pids).map(([name, pid]) => {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      // The command stands in brackets and may hold spaces; utime is the 12th field after it.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return [name, (Number(fields[11]) + Number(fields[12])) / perSecond];
    }),
  );
}
