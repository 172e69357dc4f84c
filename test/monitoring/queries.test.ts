/** What the rules and the dashboard ask for is there to be asked: metrics, their labels, and the dashboard's own parts. */
import { expect, test } from "vitest";
import { dashboardQueries, readDashboard } from "./dashboard.ts";
import { allMetrics } from "./metrics.ts";
import { alertRules } from "./rules.ts";

const known = new Map(allMetrics().map((metric) => [metric.name, metric]));
/** Prometheus puts them on everything it scrapes. */
const scraped = ["job", "instance"];

const queries: readonly (readonly [string, string])[] = [
  ...alertRules().map(({ alert, expr }): [string, string] => [alert, expr]),
  ...dashboardQueries("5m"),
];

test("what is asked for is looked at at all", () => {
  expect(queries.length).toBeGreaterThan(90);
  expect(queries.flatMap(([, expr]) => metricsIn(expr)).length).toBeGreaterThan(queries.length);
});

test.for(queries)("%s asks for metrics and labels that there are", ([, expr]) => {
  const labels = new Set(scraped);
  for (const { name, suffix, matchers } of metricsIn(expr)) {
    const metric = known.get(name);
    expect(metric, name).toBeDefined();
    expect(metric?.type === "histogram" ? ["_bucket", "_sum", "_count"] : [""], name).toContain(suffix);
    const own = new Set([...(metric?.labels ?? []), ...scraped, ...(suffix === "_bucket" ? ["le"] : [])]);
    for (const matcher of matchers) expect([...own], `${name}{${matcher}}`).toContain(matcher);
    for (const label of own) labels.add(label);
  }
  for (const [, list = ""] of expr.matchAll(/\b(?:by|without|on|ignoring) \(([^)]*)\)/g)) {
    for (const label of list.split(",").map((one) => one.trim()))
      if (label !== "") expect([...labels]).toContain(label);
  }
});

test("every metric of Berth is on the dashboard or in a rule", () => {
  const asked = new Set(queries.flatMap(([, expr]) => metricsIn(expr).map(({ name }) => name)));
  expect([...known.keys()].filter((name) => !asked.has(name))).toEqual([]);
});

test("the dashboard has its rows, panels with names of their own that lie side by side, and one data source to choose", () => {
  const { panels, templating, schemaVersion, uid } = readDashboard();
  expect(panels.filter(({ type }) => type === "row").map(({ title }) => title)).toEqual([
    "Answers and refusals",
    "Latency by verb",
    "Binds and waits",
    "Capacity and volumes",
    "Cache and API",
    "Leadership",
    "Limits and process",
  ]);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  expect(schemaVersion).toBeGreaterThanOrEqual(39);
  expect(uid).toBe("berth");
  expect(templating.list.map(({ name, type }) => `${name} ${type}`)).toEqual([
    "datasource datasource",
    "instance query",
  ]);
  const taken = new Set<string>();
  for (const { title, type, datasource, targets, gridPos } of panels) {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana fills it in
    if (type !== "row") expect(datasource?.uid, title).toBe("${datasource}");
    if (type !== "row") expect(targets?.length, title).toBeGreaterThan(0);
    expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(taken.has(`${x} ${y}`), title).toBe(false);
        taken.add(`${x} ${y}`);
      }
    }
  }
});

function metricsIn(expr: string): { name: string; suffix: string; matchers: string[] }[] {
  return [...expr.matchAll(/\b(berth_\w+)(?:\{([^}]*)\})?/g)].map(([, written = "", matchers = ""]) => {
    const suffix = known.has(written) ? "" : (/_(?:bucket|sum|count)$/.exec(written)?.[0] ?? "");
    const name = written.slice(0, written.length - suffix.length);
    return { name, suffix, matchers: [...matchers.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = ""]) => label) };
  });
}
