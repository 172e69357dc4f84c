/** How Berth and kube-scheduler stand to each other (docs/verbs.md, "Three ways to run it"). */
export const deployments = ["second-scheduler", "control-plane", "filter-only"] as const;
export type Deployment = (typeof deployments)[number];
