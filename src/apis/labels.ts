/** Every annotation and label that Berth reads or writes, each with where it comes from. */

/** Older than `spec.storageClassName`, and wins over it, on volumes and claims. @see component-helpers storage/volume/helpers.go */
export const betaStorageClass = "volume.beta.kubernetes.io/storage-class";
/** On a claim: volume and claim are bound to each other, both ways. @see component-helpers storage/volume/pv_helpers.go */
export const bindCompleted = "pv.kubernetes.io/bind-completed";
/** On a volume: the claimRef was set by a controller, which may take it back; a user's reservation lacks it. Presence counts. */
export const boundByController = "pv.kubernetes.io/bound-by-controller";
/** On a volume: the provisioner that made it. */
export const provisionedBy = "pv.kubernetes.io/provisioned-by";
/** On a claim: the node whose topology the provisioner is to use. @see component-helpers storage/volume/pv_helpers.go */
export const selectedNode = "volume.kubernetes.io/selected-node";
/** On a CSINode: in-tree plugins whose volumes go through CSI there. */
export const migratedPlugins = "storage.alpha.kubernetes.io/migrated-plugins";
/** Our own: the type of the condition that wakes a refused Pod (decision 8). */
export const volumesAvailable = "berth.dev/VolumesAvailable";
