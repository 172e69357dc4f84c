/**
 * Volumes that lie on one disk, by a label that the configuration names. Directories of one file system each report its whole
 * size: what claims ask of them together may not pass it. Partitions of one disk share its speed: an idle disk is preferred.
 *
 * The same label on volumes of other nodes is another disk: an identity is the label's value and where the volume is reached from.
 */
import type { Volume } from "./objects.ts";
import type { Topology } from "./topology.ts";
import type { VolumeId } from "./volume-table.ts";

export interface DiskRule {
  readonly label: string;
  readonly kind: "sharedFilesystem" | "partitions";
}

export interface Disk {
  readonly kind: DiskRule["kind"];
  readonly volumes: ReadonlySet<VolumeId>;
}

interface Known extends Disk {
  readonly key: string;
  readonly volumes: Set<VolumeId>;
}

export class Disks {
  readonly #rules: readonly DiskRule[];
  readonly #byKey = new Map<string, Known>();
  readonly #ofVolume = new Map<VolumeId, Known>();
  readonly #shared = new Set<Known>();

  /** @param rules  the first whose label a volume carries counts */
  constructor(rules: readonly DiskRule[]) {
    this.#rules = rules;
  }

  /** Whether any volume is a directory of a file system. */
  get areShared(): boolean {
    return this.#shared.size > 0;
  }

  get areKnown(): boolean {
    return this.#byKey.size > 0;
  }

  of(id: VolumeId): Disk | undefined {
    return this.#ofVolume.get(id);
  }

  /** A volume came or went. Whoever changes one lets it go first. */
  count(id: VolumeId, { labels }: Volume, topology: Topology, by: 1 | -1): void {
    this.#remove(id);
    const rule = by === 1 ? this.#rules.find(({ label }) => labels.has(label)) : undefined;
    if (!rule) return;
    const key = `${rule.label}=${labels.get(rule.label)} ${topology.identity}`;
    const disk = this.#byKey.get(key) ?? { key, kind: rule.kind, volumes: new Set() };
    this.#byKey.set(key, disk);
    this.#ofVolume.set(id, disk);
    disk.volumes.add(id);
    if (rule.kind === "sharedFilesystem") this.#shared.add(disk);
  }

  #remove(id: VolumeId): void {
    const disk = this.#ofVolume.get(id);
    if (!disk) return;
    this.#ofVolume.delete(id);
    disk.volumes.delete(id);
    if (disk.volumes.size > 0) return;
    this.#byKey.delete(disk.key);
    this.#shared.delete(disk);
  }
}
