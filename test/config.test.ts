import { expect, test } from "vitest";
import { configuration } from "../src/config/keys.ts";
import { parseConfig } from "../src/config/load.ts";
import { applyFlags, type Config, type ConfigError, checkListeners, defaults } from "../src/config.ts";
import { nearestName } from "../src/scheduling/near-name.ts";

const head = "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n";

function problemOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as ConfigError).message;
  }
  return "no problem";
}

test("a file that says nothing leaves every default", () => {
  expect(parseConfig(head, "berth.yaml")).toEqual(defaults);
});

test("every key can be set, and the rest of its section keeps its defaults", () => {
  const config = parseConfig(
    `${head}kubeconfig: /etc/berth.conf
schedulerName: default-scheduler
listen: "[::1]:9000"
debugListen: 127.0.0.1:0
tls: {certFile: /t/a.crt, keyFile: /t/a.key, clientCAFile: /t/ca.crt, allowedNames: [system:kube-scheduler, b]}
debugTls: {certFile: /t/b.crt, keyFile: /t/b.key, clientCAFile: /t/ca.crt, allowedNames: [prometheus]}
debugAccess: {tokenReviews: false, allowedTtl: 1m, deniedTtl: 1s, rememberedMax: 9}
insecure: true
logLevel: debug
tracing: true
binding: {timeout: 10m}
holds: {ttl: 1m30s, podsMax: 7, nodesMax: 2}
cache: {staleAfter: 2m, streamsLists: false}
liveReads: {timeout: 500ms, perCallMax: 3, inParallelMax: 1}
limits: {bodySizeMax: 16Mi, bindBodySizeMax: 1Ki, callsMax: 5, bodiesSizeMax: 32Mi, drainTimeout: 1s}
capacity: {pollInterval: 10s}
leaderElection:
  {mode: answers, resourceNamespace: berth, resourceName: x, leaseDuration: 20s, renewDeadline: 10s, retryPeriod: 2s}
metrics: {perNode: true, classesMax: 5}
scoring: {strategy: upstream, shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}
classes:
- {name: local-ssd, provisioning: static}
disks: [{label: example.com/disk, kind: partitions}]
`,
    "berth.yaml",
  );
  expect(config).toEqual({
    kubeconfig: "/etc/berth.conf",
    schedulerName: "default-scheduler",
    listen: { host: "::1", port: 9000 },
    debugListen: { host: "127.0.0.1", port: 0 },
    tls: {
      certFile: "/t/a.crt",
      keyFile: "/t/a.key",
      clientCAFile: "/t/ca.crt",
      allowedNames: ["system:kube-scheduler", "b"],
    },
    debugTls: {
      certFile: "/t/b.crt",
      keyFile: "/t/b.key",
      clientCAFile: "/t/ca.crt",
      allowedNames: ["prometheus"],
    },
    debugAccess: { tokenReviews: false, allowedMs: 60_000, deniedMs: 1_000, rememberedMax: 9 },
    insecure: true,
    logLevel: "debug",
    tracing: true,
    binding: { ...defaults.binding, timeoutMs: 600_000 },
    holds: { ttlMs: 90_000, podsMax: 7, nodesMax: 2 },
    cache: { staleAfterMs: 120_000, streamsLists: false },
    liveReads: { timeoutMs: 500, perCallMax: 3, inParallelMax: 1 },
    limits: {
      bodyBytesMax: 16 << 20,
      bindBodyBytesMax: 1024,
      callsMax: 5,
      bodiesBytesMax: 32 << 20,
      drainTimeoutMs: 1000,
    },
    capacity: { pollIntervalMs: 10_000 },
    leaderElection: {
      mode: "answers",
      resourceNamespace: "berth",
      resourceName: "x",
      leaseMs: 20_000,
      renewMs: 10_000,
      retryMs: 2_000,
    },
    metrics: { perNode: true, classesMax: 5 },
    scoring: {
      strategy: "upstream",
      shape: [
        { utilization: 0, score: 0 },
        { utilization: 100, score: 10 },
      ],
    },
    classes: [{ name: "local-ssd", provisioning: "static" }],
    disks: [{ label: "example.com/disk", kind: "partitions" }],
  });
  expect(Object.isFrozen(config.binding)).toBe(true);
});

test("the keys of the file fill the members that have a default, and no others", () => {
  for (const [key, entry] of Object.entries(configuration.section)) {
    // Without TLS in the file there is none.
    if (!("section" in entry) || key === "tls" || key === "debugTls") continue;
    const members = Object.entries(entry.section).map(([name, inner]) => ("member" in inner ? inner.member : name));
    expect(members, key).toEqual(Object.keys(defaults[key as keyof typeof defaults] as object));
  }
});

const mistakes: Record<string, { file: string; want: string }> = {
  "a mode of election that there is not": {
    file: `${head}leaderElection: {mode: true}\n`,
    want: 'berth.yaml:3: leaderElection.mode is not "answers" or "background" or "off"',
  },
  "a Lease lasts whole seconds": {
    file: `${head}leaderElection:\n  mode: answers\n  leaseDuration: 8500ms\n`,
    want: "berth.yaml:5: leaderElection.leaseDuration is not a whole number of seconds",
  },
  "a leader has given up before the Lease ends": {
    file: `${head}leaderElection:\n  renewDeadline: 7500ms\n`,
    want: "berth.yaml:4: leaderElection.renewDeadline leaves no time between renewDeadline and leaseDuration",
  },
  "a Lease shorter than the default deadline": {
    file: `${head}leaderElection:\n  leaseDuration: 5s\n`,
    want: "berth.yaml:4: leaderElection.leaseDuration leaves no time between renewDeadline and leaseDuration",
  },
  "a Lease that no follower would wait for": {
    file: `${head}leaderElection:\n  leaseDuration: 2h\n  renewDeadline: 1h\n`,
    want: 'berth.yaml:4: leaderElection.leaseDuration is not a duration such as "90s", "10m" or "1m30s", from 2s to 1h: it is "2h"',
  },
  "a deadline that no answer can meet": {
    file: `${head}leaderElection:\n  renewDeadline: 10ms\n  retryPeriod: 1ms\n`,
    want: 'berth.yaml:4: leaderElection.renewDeadline is not a duration such as "90s", "10m" or "1m30s", from 1s to 1h: it is "10ms"',
  },
  "a renewal can be tried again": {
    file: `${head}leaderElection:\n  retryPeriod: 3s\n`,
    want: "berth.yaml:4: leaderElection.retryPeriod leaves no time to try again",
  },
  "an unknown key suggests the near one, with its line": {
    file: `${head}binding:\n  timeot: 600s\n`,
    want: 'berth.yaml:4: binding.timeot is not a known key; did you mean "timeout"?',
  },
  "a key like nothing lists the known ones": {
    file: `${head}holds: {zzzzzzz: 1}\n`,
    want: "berth.yaml:3: holds.zzzzzzz is not a known key; known are ttl, podsMax, nodesMax",
  },
  "an inherited name is not a known key": {
    file: `${head}constructor: 1\n`,
    want: "berth.yaml:3: constructor is not a known key; known are",
  },
  "a duration without a unit says how durations are written": {
    file: `${head}binding:\n\n  timeout: 600\n`,
    want: 'berth.yaml:5: binding.timeout is not a duration such as "90s", "10m" or "1m30s", from 1s to 168h: it is 600; did you mean "600s"?',
  },
  "a class override needs a name": {
    file: `${head}classes:\n- name: a\n  provisioning: auto\n- provisioning: static\n`,
    want: "berth.yaml:6: classes[1].name is missing: each entry of classes needs name",
  },
  "a class is named once": {
    file: `${head}classes:\n- {name: a, pool: vg0}\n- {name: a, pool: vg1}\n`,
    want: "berth.yaml:5: classes[1] names class a again",
  },
  "a capacity needs a source": {
    file: `${head}classes:\n- name: a\n  capacity: {means: free}\n`,
    want: "berth.yaml:5: classes[0].capacity.annotation is missing: name the annotation, or the allocatable resource",
  },
  "a capacity has one source": {
    file: `${head}classes:\n- name: a\n  capacity:\n    annotation: x\n    allocatable: y\n`,
    want: "berth.yaml:7: classes[0].capacity.allocatable is one source too many: annotation is given",
  },
  "a resource is no JSON": {
    file: `${head}classes:\n- name: a\n  capacity: {allocatable: y, pointer: /a}\n`,
    want: "berth.yaml:5: classes[0].capacity.pointer is for annotations alone",
  },
  "a pointer begins with a slash": {
    file: `${head}classes:\n- name: a\n  capacity: {annotation: y, pointer: a.b}\n`,
    want: 'berth.yaml:5: classes[0].capacity.pointer is not a JSON pointer such as "/pools/0/free"',
  },
  "a unit is a size": {
    file: `${head}classes:\n- name: a\n  capacity: {annotation: y, unit: 0}\n`,
    want: 'berth.yaml:5: classes[0].capacity.unit is not the size of one unit, such as "1Gi"',
  },
  "a static class has nothing to provision from": {
    file: `${head}classes:\n- {name: a, provisioning: static, capacity: {annotation: y}}\n`,
    want: 'berth.yaml:4: classes[0] has a capacity to provision from, and "provisioning: static"',
  },
  "a static class has no pool to provision from": {
    file: `${head}classes:\n- {name: a, provisioning: static, pool: vg0}\n`,
    want: 'berth.yaml:4: classes[0] has a pool to provision from, and "provisioning: static"',
  },
  "a label tells one kind of disk": {
    file: `${head}disks:\n- {label: a, kind: partitions}\n- {label: b, kind: partitions}\n- {label: a, kind: sharedFilesystem}\n`,
    want: "berth.yaml:6: disks[2] names label a again",
  },
  "a time that no timer can count": {
    file: `${head}binding:\n  timeout: 600h\n`,
    want: 'berth.yaml:4: binding.timeout is not a duration such as "90s", "10m" or "1m30s", from 1s to 168h: it is "600h"',
  },
  "an alias of nothing": {
    file: `${head}binding:\n  timeout: 1m\nclasses: *shared\n`,
    want: "berth.yaml:5: *shared stands for nothing",
  },
  "a key that is a list": {
    file: `${head}binding:\n  ? [timeout]\n  : 1m\n`,
    want: "berth.yaml:4: a key that is no text",
  },
  "classes of one pool are measured alike": {
    file: `${head}classes:\n- {name: a, pool: vg0, capacity: {annotation: y}}\n- {name: b, pool: vg0}\n`,
    want: "berth.yaml:5: classes[1] shares pool vg0 with class a: both need a capacity from nodes that means the same, or neither",
  },
  "a strategy that is none lists them": {
    file: `${head}scoring:\n  strategy: binpack\n`,
    want: 'berth.yaml:4: scoring.strategy is not "least-surplus" or "most-allocated" or "spread" or "upstream"',
  },
  "a shape that the strategy does not use": {
    file: `${head}scoring:\n  strategy: spread\n  shape: [{utilization: 0, score: 1}]\n`,
    want: 'berth.yaml:5: scoring.shape is for "strategy: upstream" alone',
  },
  "a shape without a strategy is of the default one": {
    file: `${head}scoring:\n  shape: [{utilization: 0, score: 1}]\n`,
    want: 'berth.yaml:4: scoring.shape is for "strategy: upstream" alone',
  },
  "a shape whose points do not rise names the point and its line": {
    file: `${head}scoring:\n  strategy: upstream\n  shape:\n  - {utilization: 50, score: 1}\n  - {utilization: 50, score: 2}\n`,
    want: "berth.yaml:7: scoring.shape[1] has utilization 50, and the point before 50: they must rise",
  },
  "a shape without points": {
    file: `${head}scoring:\n  strategy: upstream\n  shape: []\n`,
    want: "berth.yaml:5: scoring.shape has no point; it needs one at least",
  },
  "a point needs both of its keys": {
    file: `${head}scoring: {strategy: upstream, shape: [{utilization: 50}]}\n`,
    want: "berth.yaml:3: scoring.shape[0].score is missing: each entry of scoring.shape needs utilization and score",
  },
  "a utilization beyond 100": {
    file: `${head}scoring: {strategy: upstream, shape: [{utilization: 101, score: 1}]}\n`,
    want: "berth.yaml:3: scoring.shape[0].utilization is not a whole number from 0 to 100",
  },
  "a score as upstream's nodes have it, not its shapes": {
    file: `${head}scoring: {strategy: upstream, shape: [{utilization: 100, score: 100}]}\n`,
    want: "berth.yaml:3: scoring.shape[0].score is not a whole number from 0 to 10",
  },
  "a choice lists the choices": {
    file: `${head}logLevel: loud\n`,
    want: 'berth.yaml:3: logLevel is not "debug" or "info" or "warn" or "error"',
  },
  "a section must be a mapping": { file: `${head}holds: 3\n`, want: "berth.yaml:3: holds is not a mapping" },
  "a key given twice is a mistake": {
    file: `${head}insecure: true\ninsecure: false\n`,
    want: 'berth.yaml:4: the key "insecure" is given twice, first on line 3',
  },
  "another apiVersion is refused": {
    file: "apiVersion: berth.dev/v9\nkind: BerthConfiguration\n",
    want: 'berth.yaml:1: apiVersion is not "berth.dev/v1alpha1"',
  },
  "a file without a kind is refused": {
    file: "apiVersion: berth.dev/v1alpha1\n",
    want: 'berth.yaml:1: kind is missing: write "kind: BerthConfiguration"',
  },
  "TLS for the extender asks for certificates, of somebody": {
    file: `${head}tls:\n  certFile: a\n  keyFile: b\n  clientCAFile: c\n`,
    want: "berth.yaml:3: tls.allowedNames is missing: tls needs certFile, keyFile, clientCAFile, allowedNames",
  },
  "TLS for the debug listener needs a key": {
    file: `${head}debugTls: {certFile: a}\n`,
    want: "berth.yaml:3: debugTls.keyFile is missing: debugTls needs certFile, keyFile",
  },
  "an authority that signs for everybody": {
    file: `${head}debugTls: {certFile: a, keyFile: b, clientCAFile: c}\n`,
    want: "berth.yaml:3: debugTls.allowedNames is missing: clientCAFile and allowedNames go together",
  },
  "names that nobody can have": {
    file: `${head}tls: {certFile: a, keyFile: b, clientCAFile: c, allowedNames: []}\n`,
    want: "berth.yaml:3: tls.allowedNames is not a list of at least one value",
  },
  "a name that is none": {
    file: `${head}tls:\n  certFile: a\n  keyFile: b\n  clientCAFile: c\n  allowedNames:\n  - a\n  - {b: c}\n`,
    want: "berth.yaml:9: tls.allowedNames[1] is not a text",
  },
  "an empty file is refused": {
    file: "",
    want: 'berth.yaml:1: the file says nothing: begin with "apiVersion: berth.dev/v1alpha1" and "kind: BerthConfiguration"',
  },
  "broken YAML says where": { file: `${head}a: [1\n`, want: "berth.yaml:4: " },
};

test.for(Object.entries(mistakes))("%s", ([, { file, want }]) => {
  const problem = problemOf(() => parseConfig(file, "berth.yaml"));
  expect(problem.slice(0, want.length)).toBe(want);
  expect(problem).not.toContain("\n");
});

test("classes may share a pool and say where nodes carry their capacity", () => {
  const { classes } = parseConfig(
    `${head}classes:
- name: nvme
  pool: vg0
  capacity: {allocatable: example.com/nvme, unit: 1Gi}
- name: nvme-raw
  provisioning: dynamic
  pool: vg0
  capacity: {allocatable: example.com/nvme, unit: 1Gi, means: total}
- name: hdd
  capacity: {annotation: example.com/disks, pointer: /hdd/0/free~1now}
`,
    "berth.yaml",
  );
  const nvme = { from: "allocatable", name: "example.com/nvme", unit: 2n ** 30n, means: "total" };
  const hdd = { from: "annotation", name: "example.com/disks", pointer: "/hdd/0/free~1now", unit: 1n, means: "free" };
  expect(classes).toEqual([
    { name: "nvme", provisioning: "auto", pool: "vg0", capacity: nvme },
    { name: "nvme-raw", provisioning: "dynamic", pool: "vg0", capacity: nvme },
    { name: "hdd", provisioning: "auto", capacity: hdd },
  ]);
});

test("a key whose lines are all commented out leaves the default", () => {
  expect(parseConfig(`${head}binding:\n  # timeout: 1s\n`, "berth.yaml").binding).toEqual(defaults.binding);
});

test("flags win over the file", () => {
  const config = applyFlags(parseConfig(`${head}listen: 127.0.0.1:1\n`, "f"), {
    listen: "127.0.0.1:2",
    kubeconfig: "k",
  });
  expect(config.listen).toEqual({ host: "127.0.0.1", port: 2 });
  expect(config.kubeconfig).toBe("k");
  expect(config.debugListen).toEqual(defaults.debugListen);
  expect(problemOf(() => applyFlags(defaults, { listen: "10290" }))).toContain('--listen "10290" is not HOST:PORT');
});

const tls = { certFile: "a", keyFile: "b", clientCAFile: "c", allowedNames: ["d"] };
const debugTls = { certFile: "a", keyFile: "b" };
const everywhere = applyFlags(defaults, { listen: "0.0.0.0:10290", "debug-listen": ":10291" });
const extenderWants = "set tls.certFile, tls.keyFile, tls.clientCAFile and tls.allowedNames, or listen on 127.0.0.1";
const listeners: Record<string, { config: Partial<Config>; want: string }> = {
  "nothing but loopback needs nothing": { config: {}, want: "no problem" },
  "the extender beyond loopback needs TLS and client certificates": { config: { ...everywhere }, want: extenderWants },
  "the debug listener beyond loopback needs TLS": {
    config: { ...everywhere, tls },
    want: "debugListen is ::, beyond loopback, and would speak plain HTTP to anybody: set debugTls.certFile and debugTls.keyFile",
  },
  "with TLS for both it may": { config: { ...everywhere, tls, debugTls }, want: "no problem" },
  "the debug listener's TLS is none for the extender": { config: { ...everywhere, debugTls }, want: extenderWants },
  "a debug listener that lets nobody in is a mistake": {
    config: { debugTls, debugAccess: { ...defaults.debugAccess, tokenReviews: false } },
    want: "debugTls lets nobody in: set debugTls.clientCAFile and debugTls.allowedNames, or debugAccess.tokenReviews",
  },
  "certificates alone will do": {
    config: {
      ...everywhere,
      tls,
      debugTls: tls,
      debugAccess: { ...defaults.debugAccess, tokenReviews: false },
    },
    want: "no problem",
  },
  "whoever insists on plain HTTP has it": { config: { ...everywhere, insecure: true }, want: "no problem" },
};

test.for(Object.entries(listeners))("%s", ([, { config, want }]) => {
  expect(problemOf(() => checkListeners({ ...defaults, ...config }))).toContain(want);
});

test("a far word is no suggestion", () => {
  expect(nearestName("serv", ["serve", "simulate"])).toBe("serve");
  expect(nearestName("banana", ["serve", "simulate"])).toBeUndefined();
});
