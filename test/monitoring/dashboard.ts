/** The dashboard as the file has it, and its queries as Prometheus gets them. */
import { readFileSync } from "node:fs";

interface Target {
  readonly expr: string;
  readonly refId: string;
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
}

export interface Dashboard {
  readonly title: string;
  readonly uid: string;
  readonly schemaVersion: number;
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly query: unknown }[];
  };
}

export function readDashboard(): Dashboard {
  return JSON.parse(readFileSync("manifests/monitoring/grafana-dashboard.json", "utf8")) as Dashboard;
}

/** By "panel, its letter". */
export function dashboardQueries(interval: string): ReadonlyMap<string, string> {
  return new Map(
    readDashboard().panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr, refId }): [string, string] => [
        `${title}, ${refId}`,
        expr.replaceAll("$__rate_interval", interval).replaceAll("$instance", ".+"),
      ]),
    ),
  );
}
