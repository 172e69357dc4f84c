/**
 * The KubeSchedulerConfiguration that each deployment needs. What a key is for stands as a comment beside it; `check.ts` finds what is
 * wrong in those that others wrote. @see VB §1.3, §1.7
 */
import { Document, isPair, isScalar, visit } from "yaml";
import type { Milliseconds } from "../runtime/runtime.ts";
import type { Deployment } from "./deployments.ts";

/** Files on the machine, or in the container, of kube-scheduler. */
export interface ClientTls {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** The name in Berth's certificate, where that is not the one in the URL. */
  readonly serverName?: string;
}

export interface SchedulerConfigOptions {
  readonly mode: Deployment;
  readonly schedulerName: string;
  /** Where Berth listens, such as "http://127.0.0.1:10290/v1". */
  readonly urlPrefix: string;
  readonly tls?: ClientTls | undefined;
  /** kube-scheduler's own; left out, it takes the service account of its Pod. */
  readonly kubeconfig?: string | undefined;
  /** Berth's `binding.timeout`. */
  readonly bindTimeoutMs: Milliseconds;
}

export const apiVersion = "kubescheduler.config.k8s.io/v1";
export const kind = "KubeSchedulerConfiguration";
/** What kube-scheduler takes for granted. */
export const defaultSchedulerName = "default-scheduler";

/** A plugin's 100 weighs as an extender's 10 at weight 1 does. */
const weight = 5;
/** Of the calls for which all other Pods wait. kube-scheduler's own default. */
const askTimeout = "5s";
/** Berth gives a bind up first, and says why. */
const bindMarginMs: Milliseconds = 10_000;

/** One of `extenders`. */
interface Entry {
  readonly urlPrefix: string;
  readonly filterVerb?: string;
  readonly prioritizeVerb?: string;
  readonly preemptVerb?: string;
  readonly weight?: number;
  readonly bindVerb?: string;
  readonly nodeCacheCapable: boolean;
  readonly ignorable: boolean;
  readonly httpTimeout: string;
  readonly enableHTTPS?: boolean;
  readonly tlsConfig?: ClientTls;
}

interface Entries {
  readonly asks: Entry;
  readonly binds: Entry;
}

/** Berth's two entries among the extenders, for one timeout serves all verbs of an entry. */
export function extenderEntries({
  urlPrefix,
  tls,
  bindTimeoutMs,
}: Pick<SchedulerConfigOptions, "urlPrefix" | "tls" | "bindTimeoutMs">): Entries {
  const both = { nodeCacheCapable: true, ignorable: false };
  const secured = tls && { enableHTTPS: true, tlsConfig: tls };
  const verbs = { filterVerb: "filter", prioritizeVerb: "prioritize", preemptVerb: "preempt" };
  const bindTimeout = `${Math.ceil((bindTimeoutMs + bindMarginMs) / 1000)}s`;
  return {
    asks: { urlPrefix, ...verbs, weight, ...both, httpTimeout: askTimeout, ...secured },
    binds: { urlPrefix, bindVerb: "bind", ...both, httpTimeout: bindTimeout, ...secured },
  };
}

export function schedulerConfiguration(options: SchedulerConfigOptions): Readonly<Record<string, unknown>> {
  const { mode, schedulerName, kubeconfig } = options;
  const { asks, binds } = extenderEntries(options);
  const isOwn = schedulerName !== defaultSchedulerName;
  const ownLease = { leaderElect: true, resourceName: schedulerName, resourceNamespace: "kube-system" };
  return {
    apiVersion,
    kind,
    ...(kubeconfig !== undefined && { clientConnection: { kubeconfig } }),
    ...(isOwn && { leaderElection: ownLease }),
    percentageOfNodesToScore: 100,
    profiles: [{ schedulerName, ...(mode === "filter-only" ? filterOnlyProfile : bindingProfile) }],
    extenders: mode === "filter-only" ? [asks] : [asks, binds],
  };
}

const bindingProfile = {
  plugins: { multiPoint: { disabled: [{ name: "VolumeBinding" }] } },
  pluginConfig: [
    { name: "DefaultPreemption", args: { minCandidateNodesPercentage: 100, minCandidateNodesAbsolute: 100 } },
  ],
};

const unscored = { disabled: [{ name: "VolumeBinding" }] };
const filterOnlyProfile = { plugins: { preScore: unscored, score: unscored } };

const titles: Readonly<Record<Deployment, string>> = {
  "second-scheduler": "A second kube-scheduler, for Pods that name it, with Berth beside it",
  "control-plane": "The cluster's own kube-scheduler, which asks Berth about every Pod",
  "filter-only": "kube-scheduler binds the volumes itself; Berth filters and scores",
};

/** What is said of a key, at the first place that has it. */
const comments: Readonly<Record<string, string>> = {
  clientConnection: "With --config, kube-scheduler takes no notice of --kubeconfig",
  leaderElection: "A Lease of its own: with the default one it would wait for the cluster's scheduler to go",
  percentageOfNodesToScore:
    "All of them: of more than 100, the node that has the volumes may not be among those looked at",
  multiPoint: "Berth does the work of VolumeBinding",
  preScore: "From 1.37 on VolumeBinding prefers the emptiest node, against Berth's own scores",
  minCandidateNodesPercentage:
    "Which victims would help is tried without looking at volumes: Berth looks at all candidates",
  extenders: "Two entries, for one timeout serves all verbs of an entry",
  ignorable: "Else a Pod would go on without its volumes when a call fails",
};

/** The same as a file for `kube-scheduler --config`. */
export function schedulerConfigYaml(options: SchedulerConfigOptions): string {
  const document = new Document(schedulerConfiguration(options), { aliasDuplicateObjects: false });
  const said = new Set(options.mode === "filter-only" ? ["extenders", "ignorable"] : []);
  visit(document, (_, node) => {
    if (!isPair(node) || !isScalar(node.key)) return;
    const key = String(node.key.value);
    const comment = comments[key];
    if (comment === undefined || said.has(key)) return;
    said.add(key);
    node.key.commentBefore = ` ${comment}`;
  });
  document.commentBefore = ` ${titles[options.mode]}: "berth scheduler-config --mode ${options.mode}".`;
  return document.toString({ lineWidth: 0 });
}
