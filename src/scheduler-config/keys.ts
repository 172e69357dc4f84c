/** The keys of a KubeSchedulerConfiguration and the forms of their values. @see kube-scheduler config/v1/types.go of 1.34 to 1.37 */

export type Form = "text" | "flag" | "number" | "whole" | "percent" | "duration" | "anything" | Keys | readonly [Form];

export interface Keys {
  readonly [key: string]: Form;
}

/** In words, for the message about a value that is not of the form. */
export const formTitles: Readonly<Record<Extract<Form, string>, string>> = {
  text: "a text",
  flag: "true or false",
  number: "a number",
  whole: "a whole number",
  percent: "a whole number from 0 to 100",
  duration: 'a duration such as "5s"',
  anything: "anything",
};

const plugins: readonly [Form] = [{ name: "text", weight: "whole" }];
const pluginSet: Keys = { enabled: plugins, disabled: plugins };

/** Where a plugin does its part of a cycle; multiPoint stands for all of them. */
export const extensionPoints = [
  "preEnqueue",
  "queueSort",
  "preFilter",
  "filter",
  "postFilter",
  "preScore",
  "score",
  "reserve",
  "permit",
  "preBind",
  "bind",
  "postBind",
  "placementGenerate",
  "placementScore",
  "podGroupPostFilter",
] as const;
export type ExtensionPoint = (typeof extensionPoints)[number];

const profile: Keys = {
  schedulerName: "text",
  percentageOfNodesToScore: "percent",
  plugins: Object.fromEntries(["multiPoint", ...extensionPoints].map((point) => [point, pluginSet])),
  pluginConfig: [{ name: "text", args: "anything" }],
};

const extender: Keys = {
  urlPrefix: "text",
  filterVerb: "text",
  preemptVerb: "text",
  prioritizeVerb: "text",
  weight: "whole",
  bindVerb: "text",
  enableHTTPS: "flag",
  tlsConfig: {
    insecure: "flag",
    serverName: "text",
    certFile: "text",
    keyFile: "text",
    caFile: "text",
    certData: "text",
    keyData: "text",
    caData: "text",
  },
  httpTimeout: "duration",
  nodeCacheCapable: "flag",
  managedResources: [{ name: "text", ignoredByScheduler: "flag" }],
  ignorable: "flag",
};

export const configurationKeys: Keys = {
  apiVersion: "text",
  kind: "text",
  parallelism: "whole",
  leaderElection: {
    leaderElect: "flag",
    leaseDuration: "duration",
    renewDeadline: "duration",
    retryPeriod: "duration",
    resourceLock: "text",
    resourceName: "text",
    resourceNamespace: "text",
  },
  clientConnection: {
    kubeconfig: "text",
    acceptContentTypes: "text",
    contentType: "text",
    qps: "number",
    burst: "whole",
  },
  enableProfiling: "flag",
  enableContentionProfiling: "flag",
  percentageOfNodesToScore: "percent",
  podInitialBackoffSeconds: "whole",
  podMaxBackoffSeconds: "whole",
  profiles: [profile],
  extenders: [extender],
  delayCacheUntilActive: "flag",
};
