/** Every alert: what it takes to fire, what it then says, and what does not do. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";
import { type AlertCase, alertCases } from "./alert-cases.ts";
import { promtool, withPrometheus } from "./programs.ts";
import { type AlertRule, alertRules, readRules, rulesPath } from "./rules.ts";

const rules = alertRules();

test("every alert has a case, a severity, a section of its own in the runbook, and one sentence at least", () => {
  expect(rules.map(({ alert }) => alert)).toEqual(Object.keys(alertCases));
  for (const { alert, labels, annotations } of rules) {
    expect(["critical", "warning", "info"], alert).toContain(labels.severity);
    expect(annotations.runbook_url).toBe(`docs/operations.md#${alert.toLowerCase()}`);
    expect(annotations.summary, alert).toMatch(/^\S.*\.$/);
    expect(annotations.description, alert).toMatch(/^\S.*\.$/);
  }
});

test("the PrometheusRule is made of the same file", async () => {
  const rule = {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name: "berth", labels: { "app.kubernetes.io/name": "berth" } },
    spec: readRules(),
  };
  const made = `# Made of berth.rules.yaml: npx vitest run test/monitoring/rules.test.ts -u\n${stringify(rule, { lineWidth: 0 })}`;
  await expect(made).toMatchFileSnapshot("../../manifests/monitoring/prometheusrule.yaml");
});

withPrometheus("promtool finds nothing wrong with the rules", {}, (programs) => {
  expect(promtool(programs, ["check", "rules", rulesPath])).toMatchObject({ ok: true });
});

withPrometheus(
  "each alert fires, says what it has to, and is silent where it should be",
  { timeout: 60_000 },
  (programs) => {
    const folder = mkdtempSync(join(tmpdir(), "berth-rules-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    // A file for each alert: promtool evaluates all rules of a file once a minute.
    const files = rules.flatMap((rule) => {
      const found = alertCases[rule.alert];
      if (!found) return [];
      const tests = [unitTest(rule, found.fires, [expected(rule, found)]), unitTest(rule, found.silent, [])];
      const [ruleFile, testFile] = [join(folder, `${rule.alert}.yaml`), join(folder, `${rule.alert}.test.yaml`)];
      writeFileSync(ruleFile, stringify({ groups: [{ name: "one", rules: [rule] }] }));
      writeFileSync(testFile, stringify({ rule_files: [ruleFile], evaluation_interval: "1m", tests }));
      return [testFile];
    });
    const { ok, said } = promtool(programs, ["test", "rules", ...files]);
    expect(said).not.toContain("FAILED");
    expect(ok).toBe(true);
    expect(said.split("SUCCESS")).toHaveLength(rules.length + 1);
  },
);

function unitTest({ alert }: AlertRule, series: AlertCase["fires"], exp_alerts: readonly object[]): object {
  return {
    interval: "1m",
    input_series: Object.entries(series).map(([name, values]) => ({ series: name.replaceAll("'", '"'), values })),
    alert_rule_test: [{ eval_time: "1h", alertname: alert, exp_alerts }],
  };
}

function expected({ labels, annotations }: AlertRule, { labels: own = {}, says }: AlertCase): object {
  const summary = annotations.summary.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => own[name] ?? "");
  return {
    exp_labels: { ...labels, ...own },
    exp_annotations: { summary, description: says, runbook_url: annotations.runbook_url },
  };
}
