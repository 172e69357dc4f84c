/** Everything that `berth check-storage` looks for: a closed set, which docs/check-storage.md shows. */

interface Mistake {
  readonly what: string;
  readonly why: string;
  readonly fix: string;
}

export const storageMistakes = {
  unreadable: {
    what: "an object that cannot be read",
    why: "Berth sets it aside, and answers Pods that need it with an Error",
    fix: "mend the field that is named",
  },
  "immediate-on-local": {
    what: "a class that binds at once, with volumes that not every node reaches",
    why: "the PV controller binds the claim before anybody looks at the Pod: it is pinned to a node that may have no room for it, or may not take it",
    fix: "make the class anew with volumeBindingMode: WaitForFirstConsumer; claims that are bound stay bound",
  },
  "modes-mixed": {
    what: "Block and Filesystem volumes in one class that nobody provisions",
    why: "a claim takes volumes of its own volumeMode alone, and one that names none asks for Filesystem: what looks free is no help to it",
    fix: "give each volumeMode a class of its own",
  },
  "class-unknown": {
    what: "a claim that waits, of a class that does not exist and of which there is no volume",
    why: "no scheduler binds it and nobody provisions it: its Pods wait for ever",
    fix: "a claim keeps its class for life: make it anew, or create the class",
  },
  "class-misspelt": {
    what: "a free volume whose class does not exist and is nearly the name of one that does",
    why: "no claim of the class that is meant ever takes it",
    fix: "set spec.storageClassName of the volume, which may be changed while it is free",
  },
  "provisioner-misspelt": {
    what: "a class whose provisioner nobody is, and that is nearly the name of one that is there",
    why: "nobody makes volumes for it; one that means no-provisioner is taken for a class that provisions",
    fix: "a class keeps its provisioner for life: delete it and make it anew",
  },
  "path-shared": {
    what: "volumes of one node with the same path, or one within the other",
    why: "two Pods write into the same files, and each is promised all of the space",
    fix: "keep one of them, or give each a file system of its own",
  },
  "file-system-shared": {
    what: "volumes of one node that each have the size of its root file system",
    why: "they are directories of it: each promises all of its space, and together with the node's own Pods they run out",
    fix: "mount a file system for each, or label them and tell Berth with disks: kind sharedFilesystem (docs/capacity.md)",
  },
  "released-retained": {
    what: "Released volumes whose reclaim policy is Retain",
    why: "their claim is gone, and nobody gives them to another: people have to, once the data may go",
    fix: "save or wipe the data, then remove spec.claimRef, or delete the volume and let it be made anew",
  },
  "released-undeleted": {
    what: "Released or Failed volumes whose reclaim policy is Delete",
    why: "whoever should delete them does not, or cannot",
    fix: "look at the volume's events and at its provisioner",
  },
  "volume-out-of-reach": {
    what: "volumes whose node affinity matches no node",
    why: "no Pod can use them; one whose claim is bound to it waits for ever",
    fix: "bring the node back under its name and labels, or delete the volume if its data may go",
  },
  "volume-missing": {
    what: "a claim that is bound to a volume that does not exist",
    why: "its Pods wait for ever",
    fix: "restore the volume, or delete the claim if its data may go",
  },
  "reserved-in-vain": {
    what: "a volume that is reserved for a claim and cannot serve it",
    why: "nobody else gets it, and the claim does not either",
    fix: "correct the volume or the claim, or remove spec.claimRef",
  },
  "capacity-unpublished": {
    what: "a class whose driver says that it publishes capacity, and has published none",
    why: "kube-scheduler and Berth take that for no room at all, and refuse every node",
    fix: "run the driver's external-provisioner with --enable-capacity, or set storageCapacity: false on the CSIDriver",
  },
} as const satisfies Record<string, Mistake>;

export type StorageMistake = keyof typeof storageMistakes;

export interface StorageFinding {
  readonly id: StorageMistake;
  /** "StorageClass local", "PersistentVolumeClaim d/x", "Node n1". */
  readonly object: string;
  readonly detail: string;
}
