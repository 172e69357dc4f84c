/** Names each mutant that no test noticed as soon as that is known, in a file: a whole run takes long. */
import { appendFileSync, mkdirSync, rmSync } from "node:fs";
import { dirname, relative } from "node:path";
import type { MutantResult } from "@stryker-mutator/api/core";
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin";
import type { Reporter } from "@stryker-mutator/api/report";

const file = "reports/mutation/survivors.txt";

class Survivors implements Reporter {
  constructor() {
    mkdirSync(dirname(file), { recursive: true });
    rmSync(file, { force: true });
  }

  onMutantTested({ status, fileName, location, mutatorName, replacement }: Readonly<MutantResult>): void {
    if (status !== "Survived" && status !== "NoCoverage") return;
    const { line, column } = location.start;
    const at = `${relative(".", fileName)}:${line}:${column}`;
    appendFileSync(file, `${at} ${status} ${mutatorName} ${replacement?.replaceAll(/\s+/g, " ")}\n`);
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Reporter, "survivors", Survivors)];
