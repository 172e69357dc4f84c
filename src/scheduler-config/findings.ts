/** Everything that can be wrong in a KubeSchedulerConfiguration with Berth in it: a closed set, which docs/scheduler-config.md shows. */

export type Severity = "error" | "warning";

interface Mistake {
  readonly severity: Severity;
  /** Whether kube-scheduler ends with it at its start; the others it takes, and they show late. */
  readonly refused?: true;
  /** What stands in the file. */
  readonly what: string;
  readonly why: string;
  readonly fix: string;
}

const ends = "kube-scheduler does not start with it";

export const mistakes = {
  unreadable: {
    severity: "error",
    refused: true,
    what: "text that is neither YAML nor JSON",
    why: ends,
    fix: "mend it at that line",
  },
  "no-configuration": {
    severity: "error",
    refused: true,
    what: "a first document that is not of kind KubeSchedulerConfiguration",
    why: "kube-scheduler reads the first document alone, and ends where it is another",
    fix: 'begin with what "berth scheduler-config" prints',
  },
  "other-documents": {
    severity: "warning",
    what: "a document after the first one",
    why: "kube-scheduler reads the first document of a file alone",
    fix: "leave the configuration alone in its file",
  },
  "old-version": {
    severity: "error",
    refused: true,
    what: "an apiVersion other than kubescheduler.config.k8s.io/v1",
    why: "v1 is the only version since Kubernetes 1.29, and the betas before it are not checked here",
    fix: "write apiVersion: kubescheduler.config.k8s.io/v1",
  },
  "unknown-key": {
    severity: "error",
    refused: true,
    what: "a key that kube-scheduler does not know",
    why: "keys are read letter for letter, and one that is not known ends kube-scheduler",
    fix: "correct or remove it",
  },
  "wrong-value": {
    severity: "error",
    refused: true,
    what: "a value of the wrong form or out of range",
    why: ends,
    fix: "write it as the message says",
  },
  "profile-twice": {
    severity: "error",
    refused: true,
    what: "two profiles with one schedulerName",
    why: ends,
    fix: "name each profile, or remove one",
  },
  "lease-shared": {
    severity: "error",
    what: "no profile is default-scheduler, and leaderElection is that of the cluster's own scheduler",
    why: "the two share one Lease, so this one waits for the other to go, for ever",
    fix: "set leaderElection.resourceName to a name of its own, or leaderElect: false where it runs once",
  },
  "no-berth": {
    severity: "error",
    what: "no extender that can be told to be Berth",
    why: "nobody asks Berth",
    fix: 'add the entries that "berth scheduler-config" prints, or say with --url where Berth listens',
  },
  "wrong-path": {
    severity: "error",
    what: "a urlPrefix that does not end in /v1, or a verb by another name",
    why: "Berth answers /v1/filter, /v1/prioritize, /v1/preempt and /v1/bind, and 404 elsewhere: each such call is an error",
    fix: "end urlPrefix in /v1 and give each verb its own name",
  },
  "no-filter": {
    severity: "error",
    what: "no entry of Berth's has filterVerb",
    why: "Pods go to nodes that do not hold their volumes, and bind then fails there each time",
    fix: "add filterVerb: filter",
  },
  "no-prioritize": {
    severity: "warning",
    what: "no entry of Berth's has prioritizeVerb",
    why: "the large disk may go to the small claim, and Pods hold volumes on more nodes than need be",
    fix: "add prioritizeVerb: prioritize and weight: 5",
  },
  "no-preempt": {
    severity: "error",
    what: "VolumeBinding is off, and no entry of Berth's has preemptVerb",
    why: "preemption looks at no volumes, so Pods are evicted from nodes where that helps nobody",
    fix: "add preemptVerb: preempt",
  },
  "asked-twice": {
    severity: "warning",
    what: "two entries ask Berth the same",
    why: "each Pod costs two calls, and Berth's scores count twice",
    fix: "remove one",
  },
  "two-berths": {
    severity: "error",
    what: "entries of Berth's that lead to different places",
    why: "each Berth keeps its promises in its own memory: two that decide about the same Pods may promise one gigabyte twice",
    fix: "give all of Berth's entries one urlPrefix",
  },
  "nobody-binds": {
    severity: "error",
    what: "VolumeBinding is off, and no extender has bindVerb",
    why: "Pods are bound without their volumes, and their containers never start",
    fix: "add Berth's second entry, with bindVerb: bind",
  },
  "other-binds": {
    severity: "error",
    what: "VolumeBinding is off, and another extender than Berth has bindVerb",
    why: "at most one extender may bind: that one binds Pods without their volumes",
    fix: "give bindVerb to Berth alone, or leave VolumeBinding on and let Berth filter only",
  },
  "two-bind": {
    severity: "error",
    refused: true,
    what: "more than one extender has bindVerb",
    why: ends,
    fix: "leave bindVerb to Berth's second entry",
  },
  "volume-binding-on": {
    severity: "error",
    what: "Berth has bindVerb, and VolumeBinding is on in a profile",
    why: "the plugin writes its own choice of volumes before Berth is asked to bind, and Berth can only agree or fail; extenders serve all profiles",
    fix: "disable VolumeBinding under plugins.multiPoint in each profile, or remove bindVerb to filter only",
  },
  "volume-binding-partly": {
    severity: "error",
    what: "VolumeBinding is on at some extension points and off at others",
    why: "its later points stand on what its earlier ones found: Pods fail, or are bound without their volumes",
    fix: "disable it under plugins.multiPoint and at no single point, or leave it on but for preScore and score",
  },
  "volume-plugin-off": {
    severity: "warning",
    what: "VolumeZone, VolumeRestrictions or NodeVolumeLimits is off",
    why: "Berth takes over VolumeBinding alone: zones as labels, ReadWriteOncePod and limits of volumes a node are theirs",
    fix: "leave it on",
  },
  "storage-scoring": {
    severity: "warning",
    what: "VolumeBinding scores beside Berth",
    why: "from Kubernetes 1.37 on it prefers the node with the emptiest storage, Berth by default the smallest disk that fits",
    fix: "disable VolumeBinding under plugins.preScore and plugins.score, or remove prioritizeVerb",
  },
  "nodes-sampled": {
    severity: "error",
    what: "percentageOfNodesToScore is not 100",
    why: "of more than 100 nodes only some are looked at; where those with the volumes are not among them, the Pod counts as unschedulable",
    fix: "set percentageOfNodesToScore: 100, and no other number in a profile",
  },
  "preemption-candidates": {
    severity: "warning",
    what: "VolumeBinding is off, and DefaultPreemption does not look at all candidates",
    why: "candidates are found without looking at volumes, so the node with the disk may not be among the few that Berth is shown",
    fix: "set minCandidateNodesPercentage: 100 in the args of DefaultPreemption",
  },
  ignorable: {
    severity: "error",
    what: "VolumeBinding is off, and an entry of Berth's is ignorable",
    why: "when a call fails, filter lets every node pass, and bind falls through to kube-scheduler, which binds the Pod without its volumes",
    fix: "set ignorable: false",
  },
  "shared-timeout": {
    severity: "error",
    what: "one entry of Berth's has bindVerb and other verbs",
    why: "one httpTimeout serves both: a bind may wait for minutes, while a filter that waits holds up every other Pod",
    fix: "make two entries: bindVerb with httpTimeout: 610s, the other verbs with 5s",
  },
  "bind-timeout": {
    severity: "error",
    what: "the httpTimeout of bind is not longer than Berth's binding.timeout",
    why: "kube-scheduler gives up while Berth still waits for the claims, and says nothing of why; the default of httpTimeout is 5s",
    fix: "set httpTimeout: 610s, ten seconds more than binding.timeout",
  },
  "slow-filter": {
    severity: "warning",
    what: "the httpTimeout of filter is longer than 30s",
    why: "kube-scheduler looks at one Pod at a time: while a call hangs, no Pod is placed",
    fix: "set httpTimeout: 5s",
  },
  "hasty-filter": {
    severity: "warning",
    what: "the httpTimeout of filter is shorter than 3s",
    why: "Berth may look past its cache for 2s before it answers: the call is given up, and nobody learns why",
    fix: "set httpTimeout: 5s",
  },
  "node-cache": {
    severity: "warning",
    what: "nodeCacheCapable is not true",
    why: "each call carries every node whole: slow, and beyond some 4,000 nodes more than Berth takes in (64 MiB)",
    fix: "set nodeCacheCapable: true",
  },
  weight: {
    severity: "error",
    refused: true,
    what: "prioritizeVerb without a weight of 1 or more",
    why: ends,
    fix: "set weight: 5",
  },
  "managed-resources": {
    severity: "error",
    what: "VolumeBinding is off, and an entry of Berth's has managedResources",
    why: "Pods that name none of them are not asked about: they go to any node. Two entries cannot name the same resource",
    fix: "remove managedResources; who is Berth's to place is said by schedulerName",
  },
  "plain-http": {
    severity: "warning",
    what: "a urlPrefix of http:// beyond loopback",
    why: "whoever can reach Berth there can bind any Pod; Berth refuses to listen so unless it is told that this is meant",
    fix: "use https:// with tlsConfig, or loopback",
  },
  "scheme-differs": {
    severity: "error",
    what: "enableHTTPS with a urlPrefix of http://",
    why: "the scheme of urlPrefix decides: nothing is encrypted",
    fix: "write https:// in urlPrefix, or remove enableHTTPS and tlsConfig",
  },
  "no-ca": {
    severity: "error",
    what: "enableHTTPS without caFile or caData",
    why: "kube-scheduler then verifies no certificate, and says so nowhere",
    fix: "set tlsConfig.caFile",
  },
  insecure: {
    severity: "error",
    what: "tlsConfig.insecure is true",
    why: "kube-scheduler verifies no certificate, and where a CA is named too it does not start",
    fix: "remove it, and set caFile",
  },
  "no-client-certificate": {
    severity: "error",
    what: "https:// without a client certificate",
    why: "over TLS Berth answers those alone who show a certificate that it believes: every call fails",
    fix: "set tlsConfig.certFile and keyFile",
  },
  "half-a-key-pair": {
    severity: "error",
    what: "a certificate without its key, or a key without its certificate",
    why: "kube-scheduler then shows no certificate, and says so nowhere",
    fix: "name both",
  },
  "scheduler-name": {
    severity: "warning",
    what: "no profile has the schedulerName of Berth's configuration",
    why: "Berth's explanations say of every Pod that another scheduler is to place it",
    fix: "set schedulerName in Berth's configuration to the profile's",
  },
} as const satisfies Readonly<Record<string, Mistake>>;

export type MistakeId = keyof typeof mistakes;

export interface Finding {
  readonly id: MistakeId;
  /** From 1 on. */
  readonly line: number;
  /** What is found there, such as "extenders[1].httpTimeout is 5s". */
  readonly detail: string;
}

export function mistakeOf(id: MistakeId): Mistake {
  return mistakes[id];
}
