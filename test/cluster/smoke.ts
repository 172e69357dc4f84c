/** `node test/cluster/smoke.ts`: the scenario files on a real control plane, one control plane each. */
import { globSync } from "node:fs";
import { audit } from "../support/auditor.ts";
import { readScenario, runScenario } from "../support/scenario.ts";
import { isBuilt, startControlPlane, version } from "./control-plane.ts";
import { realStage } from "./real-stage.ts";

const say = (line: string): void => void process.stdout.write(`${line}\n`);
if (!isBuilt()) throw new Error("the control plane is not built");

let failed = 0;
for (const file of globSync("test/scenarios/*.yaml").sort()) {
  const plane = await startControlPlane();
  const stage = realStage(plane);
  const begun = performance.now();
  try {
    await runScenario(readScenario(file), stage);
    const findings = await audit(stage);
    if (findings.length > 0) throw new Error(findings.join("; "));
    say(`ok      ${version}  ${((performance.now() - begun) / 1000).toFixed(1)} s  ${file}`);
  } catch (error) {
    failed++;
    say(`FAILED  ${version}  ${file}: ${(error as Error).message} (logs in ${plane.folder})`);
  } finally {
    stage.stop();
    await plane.stop();
  }
}
process.exit(failed === 0 ? 0 : 1);
