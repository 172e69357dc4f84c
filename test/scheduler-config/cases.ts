/** For each mistake, files that have it and nothing else: what is generated, changed in one place. */
import { stringify } from "yaml";
import type { CheckOptions } from "../../src/scheduler-config/check.ts";
import type { Deployment } from "../../src/scheduler-config/deployments.ts";
import type { MistakeId } from "../../src/scheduler-config/findings.ts";
import { type SchedulerConfigOptions, schedulerConfiguration } from "../../src/scheduler-config/generate.ts";

export const tls = {
  caFile: "/etc/berth/ca.crt",
  certFile: "/etc/berth/scheduler.crt",
  keyFile: "/etc/berth/scheduler.key",
};
const loopback = "http://127.0.0.1:10290/v1";

/** As `berth scheduler-config` has them. */
export function optionsOf(mode: Deployment): SchedulerConfigOptions {
  const common = { mode, bindTimeoutMs: 600_000 };
  if (mode === "second-scheduler") return { ...common, schedulerName: "berth-scheduler", urlPrefix: loopback };
  const kubeconfig = "/etc/kubernetes/scheduler.conf";
  const own = { ...common, schedulerName: "default-scheduler", kubeconfig };
  return mode === "filter-only"
    ? { ...own, urlPrefix: loopback }
    : { ...own, urlPrefix: "https://127.0.0.1:10290/v1", tls };
}

export interface Case {
  readonly id: MistakeId;
  readonly name: string;
  readonly text: string;
  /** The text of the line that is blamed, or a part of it. */
  readonly at: string;
  /** A part of what is said of it. */
  readonly says?: string;
  readonly options?: Partial<CheckOptions>;
}

// biome-ignore lint/suspicious/noExplicitAny: files are changed in ways that no type allows
type Loose = any;

function changed(mode: Deployment, change: (config: Loose) => unknown): string {
  const config: Loose = JSON.parse(JSON.stringify(schedulerConfiguration(optionsOf(mode))));
  change(config);
  return stringify(config, { aliasDuplicateObjects: false });
}

const second = (change: (config: Loose) => unknown): string => changed("second-scheduler", change);
const whole = (change: (config: Loose) => unknown): string => changed("control-plane", change);
const filtering = (change: (config: Loose) => unknown): string => changed("filter-only", change);
const good = second(() => {});
const other = { urlPrefix: "http://127.0.0.1:9999/other", bindVerb: "bind" };
const bareProfile = { schedulerName: "default-scheduler" };

const files: readonly Case[] = [
  { id: "unreadable", name: "broken YAML", text: `${good}\n  - [`, at: "- [" },
  {
    id: "unreadable",
    name: "a key twice",
    text: `${good}kind: KubeSchedulerConfiguration\n`,
    at: "kind:",
    says: "given twice",
  },
  { id: "unreadable", name: "broken JSON", text: '{\n"kind":\n', at: '"kind":' },
  { id: "no-configuration", name: "an empty file", text: "# nothing\n", at: "# nothing", says: "empty" },
  {
    id: "no-configuration",
    name: "another kind",
    text: "apiVersion: v1\nkind: Pod\n",
    at: "kind: Pod",
    says: "kind is Pod",
  },
  {
    id: "no-configuration",
    name: "Berth's own configuration",
    text: "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n",
    at: "kind: BerthConfiguration",
    says: '"berth config --check" looks at files of that kind',
  },
  {
    id: "no-configuration",
    name: "a ConfigMap around it",
    text: `apiVersion: v1\nkind: ConfigMap\ndata:\n  config.yaml: |\n${good.replace(/^/gm, "    ")}\n`,
    at: "kind: ConfigMap",
    says: "the text in its data",
  },
  {
    id: "other-documents",
    name: "a second document",
    text: `${good}---\napiVersion: v1\nkind: Pod\n`,
    at: "apiVersion: v1",
  },
  ...["kubescheduler.config.k8s.io/v1beta3", "kubescheduler.config.k8s.io/v1beta2", "v1"].map((version) => ({
    id: "old-version" as const,
    name: version,
    text: second((c) => (c.apiVersion = version)),
    at: "apiVersion:",
    says: `is ${version}`,
  })),
  { id: "old-version", name: "none", text: second((c) => delete c.apiVersion), at: "kind:", says: "is not set" },
  {
    id: "unknown-key",
    name: "a misspelt one",
    text: second((c) => (c.parallelismm = 8)),
    at: "parallelismm:",
    says: 'did you mean "parallelism"?',
  },
  { id: "unknown-key", name: "a gate in the file", text: second((c) => (c.featureGates = {})), at: "featureGates:" },
  {
    id: "unknown-key",
    name: "one of an entry, in another letter case",
    text: second((c) => (c.extenders[1].httptimeout = "700s")),
    at: "httptimeout:",
  },
  { id: "wrong-value", name: "a text for a number", text: second((c) => (c.parallelism = "16")), at: "parallelism:" },
  {
    id: "wrong-value",
    name: "a duration without a unit",
    text: second((c) => (c.leaderElection.retryPeriod = "2")),
    at: "retryPeriod:",
  },
  {
    id: "wrong-value",
    name: "a mapping for a list",
    text: second((c) => (c.profiles[0].pluginConfig[1] = [])),
    at: "- []",
  },
  {
    id: "profile-twice",
    name: "twice the same name",
    text: second((c) => c.profiles.push({ ...c.profiles[0] })),
    at: "schedulerName: berth-scheduler",
  },
  { id: "lease-shared", name: "the default one", text: second((c) => delete c.leaderElection), at: "apiVersion:" },
  {
    id: "lease-shared",
    name: "named as the default is",
    text: second((c) => (c.leaderElection.resourceName = "kube-scheduler")),
    at: "resourceName:",
  },
];

const wiring: readonly Case[] = [
  {
    id: "no-berth",
    name: "no extenders",
    text: second((c) => {
      delete c.extenders;
      c.profiles[0].plugins = {};
    }),
    at: "apiVersion:",
    says: "extenders are not there",
  },
  {
    id: "no-berth",
    name: "extenders of others alone",
    text: filtering((c) => {
      c.extenders = [
        { urlPrefix: "http://127.0.0.1:1/a", filterVerb: "f" },
        { urlPrefix: "http://127.0.0.1:2/b", filterVerb: "f" },
      ];
    }),
    at: "extenders:",
    says: "none can be told to be Berth",
  },
  {
    id: "no-berth",
    name: "none at the URL that is given",
    text: filtering(() => {}),
    options: { url: "http://127.0.0.1:5555" },
    at: "extenders:",
  },
  {
    id: "wrong-path",
    name: "no /v1",
    text: filtering((c) => (c.extenders[0].urlPrefix = "http://127.0.0.1:10290")),
    at: "urlPrefix:",
  },
  {
    id: "wrong-path",
    name: "a verb by another name",
    text: second((c) => (c.extenders[0].filterVerb = "predicates")),
    at: "filterVerb: predicates",
  },
  { id: "no-filter", name: "no filterVerb", text: second((c) => delete c.extenders[0].filterVerb), at: "- urlPrefix:" },
  {
    id: "no-prioritize",
    name: "no prioritizeVerb",
    text: second((c) => delete c.extenders[0].prioritizeVerb),
    at: "- urlPrefix:",
  },
  {
    id: "no-preempt",
    name: "no preemptVerb",
    text: second((c) => delete c.extenders[0].preemptVerb),
    at: "- urlPrefix:",
  },
  {
    id: "asked-twice",
    name: "two entries with preemptVerb",
    text: filtering((c) => c.extenders.push({ urlPrefix: loopback, preemptVerb: "preempt", nodeCacheCapable: true })),
    at: "preemptVerb:",
  },
  {
    id: "two-berths",
    name: "bind goes elsewhere",
    text: second((c) => (c.extenders[1].urlPrefix = "http://127.0.0.1:10290/berth-b/v1")),
    at: "urlPrefix: http://127.0.0.1:10290/berth-b/v1",
  },
  { id: "nobody-binds", name: "one entry alone", text: second((c) => c.extenders.pop()), at: "extenders:" },
  {
    id: "other-binds",
    name: "another extender in the place of Berth's second entry",
    text: second((c) => (c.extenders[1] = other)),
    at: "bindVerb:",
    says: other.urlPrefix,
  },
  {
    id: "two-bind",
    name: "another extender that binds too",
    text: second((c) => c.extenders.push(other)),
    at: "bindVerb:",
  },
  {
    id: "volume-binding-on",
    name: "not disabled",
    text: second((c) => delete c.profiles[0].plugins),
    at: "schedulerName:",
    says: "berth-scheduler",
  },
  {
    id: "volume-binding-on",
    name: "on in another profile, which the extenders serve too",
    text: second((c) => c.profiles.push(bareProfile)),
    at: "schedulerName: default-scheduler",
  },
  {
    id: "volume-binding-on",
    name: "disabled and enabled again",
    text: second((c) => (c.profiles[0].plugins.multiPoint.enabled = [{ name: "VolumeBinding" }])),
    at: "schedulerName:",
  },
  {
    id: "volume-binding-partly",
    name: "off at filter alone",
    text: second((c) => (c.profiles[0].plugins = { filter: { disabled: [{ name: "VolumeBinding" }] } })),
    at: "- name: VolumeBinding",
  },
  {
    id: "volume-plugin-off",
    name: "VolumeZone",
    text: second((c) => c.profiles[0].plugins.multiPoint.disabled.push({ name: "VolumeZone" })),
    at: "- name: VolumeZone",
  },
  {
    id: "volume-plugin-off",
    name: "NodeVolumeLimits at filter",
    text: second((c) => (c.profiles[0].plugins.filter = { disabled: [{ name: "NodeVolumeLimits" }] })),
    at: "- name: NodeVolumeLimits",
  },
  {
    id: "storage-scoring",
    name: "VolumeBinding's scores left on",
    text: filtering((c) => delete c.profiles[0].plugins),
    at: "schedulerName:",
  },
  {
    id: "nodes-sampled",
    name: "not set",
    text: second((c) => delete c.percentageOfNodesToScore),
    at: "apiVersion:",
    says: "not set",
  },
  {
    id: "nodes-sampled",
    name: "0, which is not set",
    text: whole((c) => (c.percentageOfNodesToScore = 0)),
    at: "percentageOf",
  },
  {
    id: "nodes-sampled",
    name: "another number in a profile",
    text: second((c) => (c.profiles[0].percentageOfNodesToScore = 50)),
    at: "percentageOfNodesToScore: 50",
  },
  {
    id: "nodes-sampled",
    name: "filter-only",
    text: filtering((c) => (c.percentageOfNodesToScore = 30)),
    at: "percentageOf",
  },
  {
    id: "preemption-candidates",
    name: "not set",
    text: second((c) => delete c.profiles[0].pluginConfig),
    at: "schedulerName:",
  },
  {
    id: "preemption-candidates",
    name: "fewer",
    text: second((c) => (c.profiles[0].pluginConfig[0].args.minCandidateNodesPercentage = 10)),
    at: "minCandidateNodesPercentage: 10",
  },
  {
    id: "scheduler-name",
    name: "Berth expects another",
    text: whole(() => {}),
    options: { schedulerName: "berth-scheduler" },
    at: "profiles:",
  },
];

const entries: readonly Case[] = [
  { id: "ignorable", name: "bind", text: second((c) => (c.extenders[1].ignorable = true)), at: "ignorable: true" },
  { id: "ignorable", name: "filter", text: second((c) => (c.extenders[0].ignorable = true)), at: "ignorable: true" },
  {
    id: "shared-timeout",
    name: "one entry for all",
    text: second((c) => (c.extenders = [{ ...c.extenders[0], bindVerb: "bind" }])),
    at: "bindVerb:",
  },
  {
    id: "bind-timeout",
    name: "the default",
    text: second((c) => delete c.extenders[1].httpTimeout),
    at: "- urlPrefix:",
    says: "5s by default",
  },
  {
    id: "bind-timeout",
    name: "as long as the bind itself",
    text: second((c) => (c.extenders[1].httpTimeout = "10m")),
    at: "10m",
  },
  {
    id: "bind-timeout",
    name: "Berth waits for longer than by default",
    text: second(() => {}),
    options: { bindTimeoutMs: 1_200_000 },
    at: "httpTimeout: 610s",
    says: "binding.timeout is 1200s",
  },
  {
    id: "slow-filter",
    name: "a minute",
    text: second((c) => (c.extenders[0].httpTimeout = "1m")),
    at: "httpTimeout: 1m",
  },
  {
    id: "hasty-filter",
    name: "a second",
    text: second((c) => (c.extenders[0].httpTimeout = "1s")),
    at: "httpTimeout: 1s",
  },
  {
    id: "node-cache",
    name: "not set",
    text: second((c) => delete c.extenders[0].nodeCacheCapable),
    at: "- urlPrefix:",
  },
  {
    id: "node-cache",
    name: "false",
    text: filtering((c) => (c.extenders[0].nodeCacheCapable = false)),
    at: "nodeCacheCapable:",
  },
  { id: "weight", name: "not set", text: second((c) => delete c.extenders[0].weight), at: "- urlPrefix:" },
  { id: "weight", name: "0", text: filtering((c) => (c.extenders[0].weight = 0)), at: "weight: 0" },
  {
    id: "weight",
    name: "of another extender",
    text: filtering((c) => c.extenders.push({ urlPrefix: "http://127.0.0.1:1/x", prioritizeVerb: "p", weight: -1 })),
    at: "weight: -1",
  },
  {
    id: "managed-resources",
    name: "a resource of Berth's own",
    text: second((c) => (c.extenders[0].managedResources = [{ name: "example.com/disk" }])),
    at: "managedResources:",
  },
];

const both = (change: (entry: Loose) => void) => (config: Loose) => config.extenders.forEach(change);
const secured: readonly Case[] = [
  {
    id: "plain-http",
    name: "a Service",
    text: filtering((c) => (c.extenders[0].urlPrefix = "http://berth.kube-system.svc:10290/v1")),
    at: "urlPrefix:",
  },
  {
    id: "scheme-differs",
    name: "enableHTTPS at http://",
    text: filtering((c) => (c.extenders[0].enableHTTPS = true)),
    at: "urlPrefix:",
  },
  {
    id: "scheme-differs",
    name: "tlsConfig at http://",
    text: filtering((c) => (c.extenders[0].tlsConfig = tls)),
    at: "urlPrefix:",
  },
  { id: "no-ca", name: "no caFile", text: whole((c) => delete c.extenders[1].tlsConfig.caFile), at: "tlsConfig:" },
  {
    id: "insecure",
    name: "instead of a CA",
    text: whole((c) => {
      delete c.extenders[0].tlsConfig.caFile;
      c.extenders[0].tlsConfig.insecure = true;
    }),
    at: "insecure: true",
  },
  {
    id: "no-client-certificate",
    name: "a CA alone",
    text: whole((c) => (c.extenders[0].tlsConfig = { caFile: tls.caFile })),
    at: "tlsConfig:",
  },
  {
    id: "half-a-key-pair",
    name: "no key",
    text: whole((c) => delete c.extenders[0].tlsConfig.keyFile),
    at: "tlsConfig:",
    says: "no key",
  },
  {
    id: "half-a-key-pair",
    name: "no certificate",
    text: whole((c) => delete c.extenders[1].tlsConfig.certFile),
    at: "tlsConfig:",
    says: "no certificate",
  },
];

/** Files that kube-scheduler takes otherwise than others with the same mistake stand elsewhere. */
export const cases: readonly Case[] = [...files, ...wiring, ...entries, ...secured];

/** Files that are unusual, and right. */
export const rightFiles: readonly Omit<Case, "id" | "at">[] = [
  { name: "a bind that may take weeks", text: second((c) => (c.extenders[1].httpTimeout = "1000h")) },
  { name: "a timeout of 0, which is the default", text: second((c) => (c.extenders[0].httpTimeout = "0s")) },
  { name: "JSON", text: JSON.stringify(schedulerConfiguration(optionsOf("second-scheduler")), null, 2) },
  {
    name: "several profiles, all without VolumeBinding",
    text: second((c) => c.profiles.push({ ...c.profiles[0], schedulerName: "default-scheduler" })),
  },
  {
    name: "100 in each profile, and none for all",
    text: second((c) => {
      delete c.percentageOfNodesToScore;
      c.profiles[0].percentageOfNodesToScore = 100;
    }),
  },
  {
    name: "VolumeBinding off point by point",
    text: second((c) => {
      const off = { disabled: [{ name: "VolumeBinding" }] };
      c.profiles[0].plugins = Object.fromEntries(
        ["preFilter", "filter", "preScore", "score", "reserve", "preBind"].map((point) => [point, off]),
      );
    }),
  },
  {
    name: "no leader election, for it runs once",
    text: second((c) => (c.leaderElection = { leaderElect: false })),
  },
  { name: "IPv6 loopback", text: second(both((entry) => (entry.urlPrefix = "http://[::1]:10290/v1/"))) },
  { name: "filter-only that may be skipped", text: filtering((c) => (c.extenders[0].ignorable = true)) },
  {
    name: "filter-only for some Pods",
    text: filtering((c) => (c.extenders[0].managedResources = [{ name: "example.com/disk" }])),
  },
  { name: "filter-only beside another that binds", text: filtering((c) => c.extenders.push(other)) },
  {
    name: "VolumeBinding's scores up to 1.36",
    text: filtering((c) => delete c.profiles[0].plugins),
    options: { minor: 36 },
  },
  {
    name: "another extender between Berth's entries",
    text: second((c) =>
      c.extenders.splice(1, 0, { urlPrefix: "http://127.0.0.1:1/x", filterVerb: "filter", ignorable: true }),
    ),
  },
  {
    name: "Berth at a port of its own, by --url",
    text: second((c) => {
      both((entry) => (entry.urlPrefix = "http://127.0.0.1:7/v1"))(c);
      c.extenders.push({ urlPrefix: "http://127.0.0.1:1/x", filterVerb: "filter" });
    }),
    options: { url: "http://127.0.0.1:7" },
  },
  {
    name: "a default plugin by the wildcard, and the others enabled again",
    text: second((c) => {
      const names = [
        "SchedulingGates",
        "PrioritySort",
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeZone",
        "DefaultPreemption",
        "DefaultBinder",
      ];
      c.profiles[0].plugins.multiPoint = { enabled: names.map((name) => ({ name })), disabled: [{ name: "*" }] };
    }),
  },
];
