/**
 * Provisioners of old classes by the CSI driver that serves them today: a class may still name the in-tree plugin, while CSIDriver,
 * CSINode and the volumes that were made carry the driver's name.
 *
 * @see csi-translation-lib plugins/{aws_ebs,gce_pd,azure_disk,azure_file,openstack_cinder,vsphere_volume,portworx}.go, the names
 */
const drivers: ReadonlyMap<string, string> = new Map([
  ["kubernetes.io/aws-ebs", "ebs.csi.aws.com"],
  ["kubernetes.io/gce-pd", "pd.csi.storage.gke.io"],
  ["kubernetes.io/azure-disk", "disk.csi.azure.com"],
  ["kubernetes.io/azure-file", "file.csi.azure.com"],
  ["kubernetes.io/cinder", "cinder.csi.openstack.org"],
  ["kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"],
  ["kubernetes.io/portworx-volume", "pxd.portworx.com"],
]);

/** The name under which the provisioner's driver is registered; the provisioner's own where it was never in-tree. */
export function driverOf(provisioner: string): string {
  return drivers.get(provisioner) ?? provisioner;
}

/** "ebs.csi.aws.com (for kubernetes.io/aws-ebs)": the driver, and what the class calls it where that is another name. */
export function driverText(provisioner: string): string {
  const driver = driverOf(provisioner);
  return driver === provisioner ? driver : `${driver} (for ${provisioner})`;
}
