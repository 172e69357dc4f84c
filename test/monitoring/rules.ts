/** The alert rules as the file has them. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";

export const rulesPath = "manifests/monitoring/berth.rules.yaml";

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}

export interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly AlertRule[] }[];
}

export function readRules(): RuleFile {
  return parse(readFileSync(rulesPath, "utf8")) as RuleFile;
}

export function alertRules(): readonly AlertRule[] {
  return readRules().groups.flatMap(({ rules }) => rules);
}
