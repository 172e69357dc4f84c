/** What the component for kustomize is made of fits together. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { at, text } from "../demo/cluster.ts";

const folder = "manifests/monitoring";

function documents(path: string): unknown[] {
  return parseAllDocuments(readFileSync(path, "utf8")).map((document) => {
    expect(document.errors, path).toEqual([]);
    return document.toJS();
  });
}

test.for(globSync(`${folder}/**/kustomization.yaml`))("%s names files that are there", (path) => {
  const [kustomization] = documents(path);
  const generated = at(kustomization, "configMapGenerator") as { files: string[] }[] | undefined;
  const named = [...(at(kustomization, "resources") as string[]), ...(generated ?? []).flatMap(({ files }) => files)];
  expect(named.length).toBeGreaterThan(0);
  const there = globSync(join(dirname(path), "*"));
  expect(named.map((name) => join(dirname(path), name)).filter((name) => !there.includes(name))).toEqual([]);
});

test("both monitors scrape the same path with the same identity, which may read metrics and nothing else", () => {
  const objects = globSync(`${folder}/**/*monitor.yaml`).flatMap(documents);
  const endpoints = objects.flatMap(
    (object) => (at(object, "spec", "podMetricsEndpoints") ?? at(object, "spec", "endpoints") ?? []) as unknown[],
  );
  expect(endpoints).toHaveLength(2);
  expect(endpoints[0]).toEqual(endpoints[1]);
  expect(endpoints[0]).toMatchObject({ port: "debug", path: "/metrics", scheme: "https" });
  const token = text(endpoints[0], "authorization", "credentials", "name");
  const secret = objects.find(
    (object) => text(object, "kind") === "Secret" && text(object, "metadata", "name") === token,
  );
  const account = (at(secret, "metadata", "annotations") as Record<string, string>)[
    "kubernetes.io/service-account.name"
  ];
  const binding = objects.find((object) => text(object, "kind") === "ClusterRoleBinding");
  expect(at(binding, "subjects")).toMatchObject([{ kind: "ServiceAccount", name: account }]);
  const role = objects.find((object) => text(object, "kind") === "ClusterRole");
  expect(text(binding, "roleRef", "name")).toBe(text(role, "metadata", "name"));
  expect(at(role, "rules")).toEqual([{ nonResourceURLs: ["/metrics"], verbs: ["get"] }]);
});
