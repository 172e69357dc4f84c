/** A real Prometheus scrapes a Berth at work: what promtool says of the page, and every query of the dashboard and the rules. */
import { expect, onTestFinished } from "vitest";
import { dashboardQueries } from "./dashboard.ts";
import { promtool, withPrometheus } from "./programs.ts";
import { alertRules } from "./rules.ts";
import { serveSandbox, startPrometheus, until } from "./stage.ts";

const noTls = "the demo's listeners have no TLS";
/** Queries that have nothing to tell of a demo that goes well, and why. */
const empty: Readonly<Record<string, string>> = {
  "Certificates, A": noTls,
  "Certificates, B": noTls,
  "Errors by cause, A": "no call fails",
  "Lists and ended watches, B": "no watch has ended yet: the server ends each after minutes",
  "Live reads, A": "the cache lacks nothing",
  "Pods refused everywhere for one reason of their own, A": "kube-scheduler finds such reasons itself, before it asks",
  "Turned away, A": "few call",
  "Turned away, B": "plain HTTP asks nobody who he is",
  "Turned away, C": "few connect",
  "Unreadable, woken, C": "nobody is woken: kube-scheduler sees all that happens",
};

const examples = [
  "00-cluster",
  "10-classes",
  "20-disks",
  "30-database",
  "40-exact",
  "50-mixed",
  "60-zonal",
  "70-nowhere",
];

/** Its claim is gone, so it is Released. */
const leftBehind = {
  apiVersion: "v1",
  kind: "PersistentVolume",
  metadata: { name: "left-behind" },
  spec: {
    capacity: { storage: "10Gi" },
    accessModes: ["ReadWriteOnce"],
    persistentVolumeReclaimPolicy: "Retain",
    storageClassName: "local-ssd",
    claimRef: { namespace: "default", name: "gone", uid: "of-old" },
    hostPath: { path: "/mnt/left-behind" },
  },
};

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly name: string; readonly health: string; readonly lastError?: string }[];
  }[];
}

withPrometheus(
  "every query of the dashboard and of the rules is answered by a Prometheus that scrapes the demo",
  { timeout: 60_000 },
  async (programs) => {
    const served = await serveSandbox("metrics: { perNode: true }\n");
    onTestFinished(() => served.stop());
    await served.apply(...examples, leftBehind);
    await until("the Pods that fit are placed", async () => (await served.placed()) === 6);
    // Only now, for what there is is looked at every five seconds at most.
    const prometheus = await startPrometheus(programs, served.debugPort);
    onTestFinished(() => prometheus.stop());
    const rated = "rate(berth_binds_total[30s]) and on () berth_pods_waiting > 0";
    await until("Prometheus has scraped twice", async () => (await prometheus.query(rated)).length > 0);

    const page = await (await fetch(`${served.debug}/metrics`)).text();
    expect(promtool(programs, ["check", "metrics"], page)).toEqual({ ok: true, said: "" });

    const silent: string[] = [];
    for (const [where, expr] of dashboardQueries("30s")) {
      const samples = await prometheus.query(expr);
      if (samples.length === 0) silent.push(where);
    }
    expect(silent.sort()).toEqual(Object.keys(empty).sort());

    await until("every rule was evaluated", async () =>
      ((await prometheus.get("/api/v1/rules")) as Rules).groups.every(({ rules }) =>
        rules.every(({ health }) => health !== "unknown"),
      ),
    );
    const rules = ((await prometheus.get("/api/v1/rules")) as Rules).groups.flatMap((group) => group.rules);
    expect(rules.map(({ name, health }) => `${name} ${health}`).sort()).toEqual(
      alertRules()
        .map(({ alert }) => `${alert} ok`)
        .sort(),
    );
  },
);
