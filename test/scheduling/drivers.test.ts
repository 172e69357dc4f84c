import { expect, test } from "vitest";
import { driverOf, driverText } from "../../src/scheduling/drivers.ts";

test.for([
  ["kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "pd.csi.storage.gke.io (for kubernetes.io/gce-pd)"],
  ["ebs.csi.aws.com", "ebs.csi.aws.com", "ebs.csi.aws.com"],
  ["kubernetes.io/no-provisioner", "kubernetes.io/no-provisioner", "kubernetes.io/no-provisioner"],
])("a class of %s is served by %s", ([provisioner = "", driver, text]) => {
  expect([driverOf(provisioner), driverText(provisioner)]).toEqual([driver, text]);
});
