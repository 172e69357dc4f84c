/** The Go module that any version of Kubernetes is built from. */
import { expect, test } from "vitest";
import { moduleFor } from "./control-plane/go-module.ts";

const upstream = (lines: readonly string[]): string => lines.join("\n");

test("staging modules are taken at the version that they are published under, the rest as Kubernetes has it", () => {
  const text = upstream([
    "module k8s.io/kubernetes",
    "",
    "go 1.26.0",
    "",
    "require (",
    "\tgithub.com/spf13/cobra v1.10.2",
    "\tgo.etcd.io/etcd/client/v3 v3.6.8",
    "\tk8s.io/api v0.0.0",
    ")",
    "",
    "require go.etcd.io/etcd/raft v1.0.0",
    "",
    "require (",
    "\tgo.etcd.io/etcd/server/v3 v3.6.8 // indirect",
    ")",
    "",
    "replace (",
    "\tk8s.io/api => ./staging/src/k8s.io/api",
    "\tk8s.io/component-base => ./staging/src/k8s.io/component-base",
    ")",
  ]);
  expect(moduleFor("1.37.2", text)).toBe(
    upstream([
      "module berth.dev/control-plane",
      "",
      "go 1.26.0",
      "",
      "require (",
      "\tgithub.com/spf13/cobra v1.10.2",
      "\tgo.etcd.io/etcd/server/v3 v3.6.8",
      "\tk8s.io/component-base v0.37.2",
      "\tk8s.io/kubernetes v1.37.2",
      ")",
      "",
      "replace (",
      "\tk8s.io/api => k8s.io/api v0.37.2",
      "\tk8s.io/component-base => k8s.io/component-base v0.37.2",
      ")",
      "",
    ]),
  );
});

test("a go.mod without staging modules or without etcd is not guessed at", () => {
  expect(() => moduleFor("1.37.2", "module k8s.io/kubernetes\n\ngo 1.26.0\n")).toThrow("not as expected");
  const staging = "go 1.26.0\n\treplace\n\tk8s.io/api => ./staging/src/k8s.io/api\n\tgithub.com/spf13/cobra v1.10.2\n";
  expect(() => moduleFor("1.37.2", staging)).toThrow("does not name go.etcd.io/etcd/server/v3");
});
