/** Files that nobody should write: each is refused with a line and a cause, or is taken for what it says; none does harm. */
import { expect, test } from "vitest";
import { checkConfig, mistakeLine } from "../../src/config/load.ts";

const head = "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n";
const begin = 'begin with "apiVersion: berth.dev/v1alpha1" and "kind: BerthConfiguration"';

function linesOf(text: string): string[] {
  return checkConfig(text).map((mistake) => mistakeLine(mistake, "f"));
}

/** Of ten anchors, each standing for ten of the one before. */
function bomb(): string {
  const levels = Array.from({ length: 9 }, (_, level) => {
    const inner = level === 0 ? '"x"' : `*a${level - 1}`;
    return `  a${level}: &a${level} [${Array(10).fill(inner).join(", ")}]`;
  });
  return `${head}binding:\n${levels.join("\n")}\n`;
}

const files: Record<string, { file: string; want: string[] }> = {
  "an empty file": { file: "", want: [`f:1: the file says nothing: ${begin}`] },
  "white space": { file: "\n\n  \n", want: [`f:1: the file says nothing: ${begin}`] },
  "comments alone": { file: "# soon\n", want: [`f:1: the file says nothing: ${begin}`] },
  "a document of nothing": { file: "---\n...\n", want: [`f:1: the file says nothing: ${begin}`] },
  null: { file: "null\n", want: [`f:1: the file says nothing: ${begin}`] },
  "a word": { file: "berth\n", want: [`f:1: the file is not a mapping of keys to values; ${begin}`] },
  "a list": { file: "- a\n", want: [`f:1: the file is not a mapping of keys to values; ${begin}`] },
  "another kind": {
    file: "apiVersion: berth.dev/v1alpha1\nkind: Deployment\nspec: {}\n",
    want: ['f:2: kind is not "BerthConfiguration": it is "Deployment"'],
  },
  "a misspelt kind": {
    file: "apiVersion: berth.dev/v1alpha1\nkind: BerthConfig\n",
    want: ['f:2: kind is not "BerthConfiguration": it is "BerthConfig"'],
  },
  "kube-scheduler's own configuration": {
    file: "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: []\n",
    want: [
      'f:1: apiVersion is not "berth.dev/v1alpha1": it is "kubescheduler.config.k8s.io/v1"',
      'f:2: kind is not "BerthConfiguration": it is "KubeSchedulerConfiguration"; "berth check-config" looks at files of that kind',
    ],
  },
  "a ConfigMap around it": {
    file: `apiVersion: v1\nkind: ConfigMap\ndata:\n  berth.yaml: |\n    kind: BerthConfiguration\n`,
    want: [
      'f:1: apiVersion is not "berth.dev/v1alpha1": it is "v1"',
      'f:2: kind is not "BerthConfiguration": it is "ConfigMap"; give the text in its data',
    ],
  },
  "another version of the keys": {
    file: "apiVersion: berth.dev/v1\nkind: BerthConfiguration\nnew: 1\n",
    want: ['f:1: apiVersion is not "berth.dev/v1alpha1": it is "berth.dev/v1"'],
  },
  "no head": {
    file: "logLevel: debug\n",
    want: [
      'f:1: apiVersion is missing: write "apiVersion: berth.dev/v1alpha1"',
      'f:1: kind is missing: write "kind: BerthConfiguration"',
    ],
  },
  "two documents": {
    file: `${head}---\n${head}`,
    want: ["f:4: another document begins here: one file holds one configuration"],
  },
  "documents of nothing around it": { file: `---\n---\n${head}---\n`, want: [] },
  "a bomb of aliases": { file: bomb(), want: ["f:1: aliases that stand for too much, or for themselves"] },
  "an alias of what it stands in": {
    file: `${head}classes: &a\n- *a\n`,
    want: ["f:4: classes[0] is not a mapping of keys to values; its keys are name, provisioning, pool, capacity"],
  },
  "aliases of aliases without an end": {
    file: `${head}classes: [${"&a x, *a, ".repeat(200)}]\n`,
    want: ["f:3: more than 100 aliases"],
  },
  "an alias that is used as it is meant": {
    file: `${head}binding: { timeout: &long 20m }\nholds: { ttl: *long }\n`,
    want: [],
  },
  "keys of every object": {
    file: `${head}__proto__: { insecure: true }\nconstructor: 1\ntoString: 2\nbinding: { __proto__: { timeout: 1s } }\n`,
    want: [
      expect.stringMatching(/^f:3: __proto__ is not a known key; known are /) as unknown as string,
      expect.stringMatching(/^f:4: constructor is not a known key; known are /) as unknown as string,
      expect.stringMatching(/^f:5: toString is not a known key; known are /) as unknown as string,
      "f:6: binding.__proto__ is not a known key; known are timeout, inProgressMax, queuedMax",
    ],
  },
  "merged keys, which are of YAML 1.1": {
    file: `${head}binding: &b { timeout: 1m }\nholds: { <<: *b }\n`,
    want: ['f:4: holds["<<"] is not a known key; known are ttl, podsMax, nodesMax'],
  },
  "a number without an end": {
    file: `${head}binding: { inProgressMax: 1e400, queuedMax: .inf }\n`,
    want: [
      "f:3: binding.inProgressMax is not a whole number from 1 to 100000: it is Infinity",
      "f:3: binding.queuedMax is not a whole number from 1 to 100000: it is Infinity",
    ],
  },
  "numbers that would fill the memory": {
    file: `${head}debugAccess: { rememberedMax: 9007199254740991 }\nlimits: { bodySizeMax: 1e18 }\n`,
    want: [
      "f:3: debugAccess.rememberedMax is not a whole number from 1 to 100000: it is 9007199254740991",
      'f:4: limits.bodySizeMax is not a size such as "64Mi", from 1Ki to 512Mi: it is 1000000000000000000',
    ],
  },
  "numbers that are none": {
    file: `${head}holds: { podsMax: .nan, nodesMax: -0 }\n`,
    want: [
      "f:3: holds.podsMax is not a whole number from 1 to 100000: it is NaN",
      "f:3: holds.nodesMax is not a whole number from 1 to 1000: it is 0",
    ],
  },
  "other ways to write a number": { file: `${head}holds: { podsMax: 0x10, nodesMax: 2.0 }\n`, want: [] },
  "a number in quotes": {
    file: `${head}holds: { podsMax: "16" }\n`,
    want: ['f:3: holds.podsMax is not a whole number from 1 to 100000: it is "16"; write it without quotes'],
  },
  "yes for true": {
    file: `${head}insecure: yes\n`,
    want: ['f:3: insecure is not true or false: it is "yes"; write true, without quotes'],
  },
  "a size of thousandths": {
    file: `${head}limits: { bodySizeMax: 64m }\n`,
    want: [
      'f:3: limits.bodySizeMax is not a size such as "64Mi", from 1Ki to 512Mi: it is "64m"; did you mean "64Mi"?',
    ],
  },
  "a key twice": {
    file: `${head}binding:\n  timeout: 1m\n  timeout: 2m\n`,
    want: ['f:5: the key "timeout" is given twice, first on line 4'],
  },
  "a tab": { file: `${head}binding:\n\ttimeout: 1m\n`, want: ["f:4: Tabs are not allowed as indentation"] },
  "a value that a template lost": {
    file: `${head}binding:\n  timeout:\nlogLevel: ""\n`,
    want: [
      'f:4: binding.timeout has no value: write a duration such as "90s", "10m" or "1m30s", from 1s to 168h, or leave the line out',
      'f:5: logLevel has no value: write "debug" or "info" or "warn" or "error", or leave the line out',
    ],
  },
  "a template that was not filled in": {
    file: `${head}logLevel: {{ .Values.logLevel }}\n`,
    want: ["f:3: a key that is no text"],
  },
  "sections and lists whose lines are commented out": {
    file: `${head}binding:\n# timeout: 1m\nclasses:\n# - name: a\ntls:\n`,
    want: [],
  },
  "lines that are commented out where a rule looks": {
    file: `${head}scoring:\n  shape:\nclasses:\n- name: a\n  provisioning: static\n  capacity:\n`,
    want: [],
  },
  "an entry of nothing in a list": {
    file: `${head}classes:\n-\n`,
    want: ["f:4: classes[0] is not a mapping of keys to values; its keys are name, provisioning, pool, capacity"],
  },
  "a list where a section is": {
    file: `${head}binding:\n- timeout: 1m\n`,
    want: ["f:3: binding is not a mapping of keys to values; its keys are timeout, inProgressMax, queuedMax"],
  },
  "a section where a list is": {
    file: `${head}classes:\n  name: a\n`,
    want: ['f:3: classes is not a list; begin each entry with "- name:"'],
  },
  "a key of another section": {
    file: `${head}podsMax: 3\ntimeout: 1m\n`,
    want: [
      'f:3: podsMax is not a known key; did you mean "podsMax" in holds?',
      'f:4: timeout is not a known key; did you mean "timeout" in binding or "timeout" in liveReads?',
    ],
  },
  "what newcomers write": {
    file: `${head}listenAddress: x\nbindTimeout: 1m\nbinding.timeout: 1m\nbinding: { timeoutSeconds: 600 }\nleader-election: {}\ndebug: true\nprometheus: x\nscoring: spread\ndebugTls: { cert: a, key: b, ca: c, allowedNames: d, certFile: e, keyFile: f, clientCAFile: g }\n`,
    want: [
      'f:3: listenAddress is not a known key; did you mean "listen"?',
      'f:4: bindTimeout is not a known key; did you mean "timeout" in binding?',
      'f:5: "binding.timeout" is not a known key; did you mean "timeout" in binding?',
      'f:6: binding.timeoutSeconds is not a known key; did you mean "timeout"?',
      'f:7: leader-election is not a known key; did you mean "leaderElection"?',
      'f:8: debug is not a known key; did you mean "debugListen" or "debugTls" or "debugAccess"?',
      expect.stringMatching(/^f:9: prometheus is not a known key; known are apiVersion, /) as unknown as string,
      "f:10: scoring is not a mapping of keys to values; its keys are strategy, shape",
      'f:11: debugTls.cert is not a known key; did you mean "certFile"?',
      'f:11: debugTls.key is not a known key; did you mean "keyFile"?',
      'f:11: debugTls.ca is not a known key; did you mean "clientCAFile"?',
      'f:11: debugTls.allowedNames is not a list of at least one value; write ["d"]',
    ],
  },
  "keys in another letter case": {
    file: `${head}LogLevel: debug\nbinding: { Timeout: 1m }\n`,
    want: [
      'f:3: LogLevel is not a known key; did you mean "logLevel"?',
      'f:4: binding.Timeout is not a known key; did you mean "timeout"?',
    ],
  },
  "a key with signs that a terminal obeys": {
    file: `${head}"\\e[2Jx": 1\n`,
    want: [expect.stringMatching(/^f:3: "\\u001b\[2Jx" is not a known key; known are /) as unknown as string],
  },
  "a key of a million letters": {
    file: `${head}${"k".repeat(1_000)}: 1\n`,
    want: [expect.stringMatching(/^f:3: "k{60}…" is not a known key; known are /) as unknown as string],
  },
  "a name that Kubernetes does not have": {
    file: `${head}classes:\n- name: Local NVMe\nleaderElection: { resourceName: berth_1 }\n`,
    want: [
      'f:4: classes[0].name is not a name of an object: lower case letters, digits, "-" and ".": it is "Local NVMe"',
      'f:5: leaderElection.resourceName is not a name of an object: lower case letters, digits, "-" and ".": it is "berth_1"',
    ],
  },
  "all mistakes at once, in the order of the lines": {
    file: `${head}listen: 10290\nbinding:\n  timeot: 1m\n  queuedMax: 0\nlogLevel: erorr\nleaderElection:\n  leaseDuration: 2500ms\nclasses:\n- name: a\n- pool: p\n- name: a\ntls: { certFile: a }\n`,
    want: [
      'f:3: listen is not HOST:PORT, such as "127.0.0.1:10290": it is 10290',
      'f:5: binding.timeot is not a known key; did you mean "timeout"?',
      "f:6: binding.queuedMax is not a whole number from 1 to 100000: it is 0",
      'f:7: logLevel is not "debug" or "info" or "warn" or "error": it is "erorr"; did you mean "error"?',
      "f:9: leaderElection.leaseDuration is not a whole number of seconds",
      "f:9: leaderElection.leaseDuration leaves no time between renewDeadline and leaseDuration: a second at least must lie there",
      "f:12: classes[1].name is missing: each entry of classes needs name",
      "f:13: classes[2] names class a again",
      ...["keyFile", "clientCAFile", "allowedNames"].map(
        (key) => `f:14: tls.${key} is missing: tls needs certFile, keyFile, clientCAFile, allowedNames`,
      ),
    ],
  },
  "listeners that would be open to anybody": {
    file: `${head}listen: ":10290"\ndebugListen: 0.0.0.0:10291\ndebugAccess: { tokenReviews: false }\n`,
    want: [
      "f:3: listen is ::, beyond loopback, and would speak plain HTTP to anybody: set tls.certFile, tls.keyFile, tls.clientCAFile and tls.allowedNames, or listen on 127.0.0.1",
      expect.stringMatching(/^f:4: debugListen is 0\.0\.0\.0, beyond loopback, and would /) as unknown as string,
    ],
  },
  "lists in lists": {
    file: `${head}a: ${"[".repeat(20_000)}${"]".repeat(20_000)}\n`,
    want: [expect.stringMatching(/^f:\d+: lists and mappings are nested too deep$/) as unknown as string],
  },
  "mappings in mappings": {
    file: `${head}a: ${"{a: ".repeat(20_000)}1${"}".repeat(20_000)}\n`,
    want: [expect.stringMatching(/^f:\d+: lists and mappings are nested too deep$/) as unknown as string],
  },
  "values that are code, bytes or sets": {
    file: `${head}kubeconfig: !!js/function "x"\n`,
    want: ['f:3: the tag "tag:yaml.org,2002:js/function": write the plain value'],
  },
  "a set, which has no values": {
    file: `${head}binding: !!set { timeout }\n`,
    want: ['f:3: the tag "tag:yaml.org,2002:set": write the plain value'],
  },
  "a text that says it is one": { file: `${head}schedulerName: !!str 17\n`, want: [] },
  "more than a configuration can be": {
    file: `${head}${"# padding\n".repeat(120_000)}`,
    want: ["f:1: the file is larger than 256 KiB, and no configuration"],
  },
};

test.for(Object.entries(files))("%s", ([, { file, want }]) => {
  expect(linesOf(file)).toEqual(want);
});

test("of very many mistakes the first are told", () => {
  const keys = Array.from({ length: 5_000 }, (_, index) => `k${index}: 1`).join("\n");
  const told = linesOf(`${head}${keys}\n`);
  expect(told.length).toBe(200);
  expect(told[0]).toMatch(/^f:3: k0 is not a known key/);
});

test("nothing that a file says reaches what all objects have", () => {
  linesOf(`${head}__proto__: { polluted: true }\nconstructor: { prototype: { polluted: true } }\n`);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});
