/** Every key of the file, with what it is for: the one description of the configuration. Defaults are those of `config.ts`. */
import { type ShapePoint, shapeProblem, strategies } from "../scheduling/scoring.ts";
import { classList } from "./classes.ts";
import { electionSection } from "./election.ts";
import { type Field, type Listed, type Nested, type Read, twice } from "./sections.ts";
import { debugAccessSection, debugTlsSection, tlsSection } from "./tls.ts";
import { address, duration, type Form, flag, oneOf, qualifiedName, size, text, week, whole } from "./values.ts";

export const apiVersion = "berth.dev/v1alpha1";
export const kind = "BerthConfiguration";

/** Where files that are not ours belong. */
const readers: Readonly<Record<string, string>> = {
  KubeSchedulerConfiguration: '"berth check-config" looks at files of that kind',
  ConfigMap: "give the text in its data",
};

const field = (member: string, form: Form<unknown>, says: string): Field => ({ member, form, says });
const second = 1_000;
const hour = 3_600_000;
const [KiB, MiB] = [1 << 10, 1 << 20];

const binding: Nested = {
  says: "How volumes and Pods are bound.",
  section: {
    timeout: field(
      "timeoutMs",
      duration(second, week),
      "How long one bind waits for its claims. kube-scheduler must wait for longer: `berth scheduler-config` gives it ten seconds more.",
    ),
    inProgressMax: field("inProgressMax", whole(1, 100_000), "Binds of Pods with claims at one time."),
    queuedMax: field(
      "queuedMax",
      whole(1, 100_000),
      "Binds that wait for their turn; one more is answered with an `Error`.",
    ),
  },
};

const holds: Nested = {
  says: "Volumes that are kept for a Pod between filter and bind.",
  section: {
    ttl: field("ttlMs", duration(second, hour), "How long they are kept, unless the Pod is bound before."),
    podsMax: field("podsMax", whole(1, 100_000), "Pods that hold volumes at one time."),
    nodesMax: field("nodesMax", whole(1, 1_000), "Feasible nodes that one Pod may hold volumes on at one time."),
  },
};

const cache: Nested = {
  says: "What is known of the cluster (docs/reliability.md).",
  section: {
    staleAfter: field(
      "staleAfterMs",
      duration(20 * second, hour),
      "A watch that is silent for longer, bookmarks included, is no ground for a refusal. Bookmarks come about once a minute.",
    ),
    streamsLists: field(
      "streamsLists",
      flag,
      "Whether lists are asked for as streams, object by object. They come in pages where the API server has none, or where this is off.",
    ),
  },
};

const liveReads: Nested = {
  says: "Reads of objects that a decision needs and the cache lacks.",
  section: {
    timeout: field(
      "timeoutMs",
      duration(10, 30 * second),
      "For all that one call needs. kube-scheduler waits for an extender for 5 s unless told otherwise.",
    ),
    perCallMax: field("perCallMax", whole(1, 1_000), "Objects that one call may ask for."),
    inParallelMax: field("inParallelMax", whole(1, 100), "Reads at one time."),
  },
};

const limits: Nested = {
  says: "What callers may ask for (docs/reliability.md, docs/hostile-input.md).",
  section: {
    bodySizeMax: field(
      "bodyBytesMax",
      size(KiB, 512 * MiB),
      "The body of one call, bind apart. 64Mi holds about 4,000 whole Nodes; with `nodeCacheCapable` a call has names alone.",
    ),
    bindBodySizeMax: field("bindBodyBytesMax", size(KiB, 512 * MiB), "The body of one bind."),
    callsMax: field("callsMax", whole(1, 10_000), "Calls in progress, binds apart; one more is answered 503."),
    bodiesSizeMax: field(
      "bodiesBytesMax",
      size(KiB, 512 * MiB),
      "The bodies that one listener has before it, together; a call beyond it is answered 503, unless it is alone or a small call.",
    ),
    drainTimeout: field("drainTimeoutMs", duration(1, hour), "How long a stop waits for the calls in progress."),
  },
};

const capacity: Nested = {
  says: "What CSI drivers publish (docs/capacity.md).",
  section: {
    pollInterval: field(
      "pollIntervalMs",
      duration(second, 24 * hour),
      "How often CSI drivers look at their capacity (external-provisioner's --capacity-poll-interval).",
    ),
  },
};

const metrics: Nested = {
  says: "What Prometheus is told (docs/monitoring.md).",
  section: {
    perNode: field("perNode", flag, "Whether what each node has is a metric, with the node's name as a label."),
    classesMax: field(
      "classesMax",
      whole(1, 1_000),
      "Classes that are named in metrics; the others are counted together.",
    ),
  },
};

const shape: Listed = {
  listOf: {
    utilization: {
      ...field("utilization", whole(0, 100), "Percent of a node's capacity that is requested."),
      example: "0",
    },
    score: { ...field("score", whole(0, 10), "What such a node gets."), example: "10" },
  },
  needs: ["utilization", "score"],
  says: "With `strategy: upstream`: points between which scores are drawn as lines.",
  example: "- { utilization: 0, score: 10 }\n- { utilization: 100, score: 0 }",
  shownOnly: true,
  rules: [
    {
      says: "the points of `shape` rise in `utilization`, and there is one at least",
      schema: { minItems: 1 },
      wrongs: (points) => {
        const found = shapeProblem([...points.values()] as unknown as readonly ShapePoint[]);
        const at = found && [...points.keys()][found.index];
        return found ? [{ at: at === undefined ? [] : [at], problem: found.problem }] : [];
      },
    },
  ],
};

const scoring: Nested = {
  says: "Which node is best (docs/scoring.md).",
  section: { strategy: field("strategy", oneOf(...strategies), "What is scored."), shape },
  rules: [
    {
      says: "`shape` is for `strategy: upstream` alone",
      schema: {
        if: { required: ["shape"], properties: { shape: { type: "array" } } },
        // biome-ignore lint/suspicious/noThenProperty: JSON Schema's own name
        then: { required: ["strategy"], properties: { strategy: { const: "upstream" } } },
      },
      wrongs: (read: Read) =>
        read["shape"] !== undefined && read["strategy"] !== "upstream"
          ? [{ at: ["shape"], problem: 'is for "strategy: upstream" alone' }]
          : [],
    },
  ],
};

const disks: Listed = {
  listOf: {
    label: {
      member: "label",
      form: qualifiedName,
      says: "A label of PersistentVolumes: those on one node that have the same value lie on one disk.",
      example: "example.com/disk",
    },
    kind: {
      member: "kind",
      form: oneOf("sharedFilesystem", "partitions"),
      says: "`sharedFilesystem`: each shows the size of all. `partitions`: each has its own size.",
      example: "partitions",
    },
  },
  needs: ["label", "kind"],
  says: "How to tell which volumes lie on one disk (docs/capacity.md).",
  example: "- { label: example.com/filesystem, kind: sharedFilesystem }",
  rules: [
    {
      says: "each label is named once: the second rule for it would never apply",
      wrongs: (read) => twice(read, "label").map(({ at, value }) => ({ at, problem: `names label ${value} again` })),
    },
  ],
};

export const configuration: Nested = {
  says: "Configuration of Berth, a kube-scheduler extender for volume-topology-aware placement.",
  needs: ["apiVersion", "kind"],
  section: {
    apiVersion: field("apiVersion", oneOf(apiVersion), "The version of these keys."),
    kind: field(
      "kind",
      { ...oneOf(kind), hint: (value) => (typeof value === "string" ? readers[value] : undefined) },
      "What this file is.",
    ),
    kubeconfig: {
      member: "kubeconfig",
      form: text,
      says: "How to reach the cluster.",
      without: "the service account of the Pod, `$KUBECONFIG`, then `~/.kube/config`",
      example: "/etc/berth/kubeconfig",
    },
    schedulerName: field(
      "schedulerName",
      text,
      "The scheduler that asks. Explanations say so when a Pod names another; decides nothing.",
    ),
    listen: field("listen", address, "Where kube-scheduler asks."),
    debugListen: field("debugListen", address, "Metrics, probes and explanations."),
    tls: tlsSection,
    debugTls: debugTlsSection,
    debugAccess: debugAccessSection,
    insecure: field("insecure", flag, "Allows plain HTTP beyond loopback."),
    logLevel: field("logLevel", oneOf("debug", "info", "warn", "error"), "What is logged, and all that weighs more."),
    tracing: field(
      "tracing",
      flag,
      "Whether calls are traced; where traces go is said in the environment, as OpenTelemetry has it (docs/monitoring.md).",
    ),
    binding,
    holds,
    cache,
    liveReads,
    limits,
    capacity,
    leaderElection: electionSection,
    metrics,
    scoring,
    classes: classList,
    disks,
  },
};
