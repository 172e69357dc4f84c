/** The `classes` of a configuration: what the cluster does not show of a storage class, or shows wrongly. */
import type { CapacitySource } from "../scheduling/node-capacity.ts";
import { type Bytes, one } from "../scheduling/quantity.ts";
import { type Listed, type Read, type Rule, type Section, twice, type Wrong } from "./sections.ts";
import { jsonPointer, objectName, oneOf, qualifiedName, text, unitSize } from "./values.ts";

type Provisioning = "static" | "dynamic" | "auto";

export interface ClassOverride {
  readonly name: string;
  /** Whether volumes of the class can be provisioned; "auto" looks at the cluster. */
  readonly provisioning: Provisioning;
  /** Where nodes say how much of it they have; absent: the driver publishes capacity objects, or nothing. */
  readonly capacity?: CapacitySource;
  /** Classes that name the same pool draw on the same disk, in each segment or on each node. */
  readonly pool?: string;
}

const capacityRules: readonly Rule<Read>[] = [
  {
    says: "`annotation` or `allocatable` is given, and not both",
    schema: { oneOf: [{ required: ["annotation"] }, { required: ["allocatable"] }] },
    wrongs: ({ annotation, allocatable }) => {
      if (annotation !== undefined && allocatable !== undefined) {
        return [{ at: ["allocatable"], problem: "is one source too many: annotation is given" }];
      }
      if (annotation !== undefined || allocatable !== undefined) return [];
      const problem = "is missing: name the annotation, or the allocatable resource, that nodes carry";
      return [{ at: ["annotation"], problem }];
    },
  },
  {
    says: "`pointer` is for annotations alone",
    schema: { dependentRequired: { pointer: ["annotation"] } },
    wrongs: ({ annotation, pointer }) =>
      pointer !== undefined && annotation === undefined
        ? [{ at: ["pointer"], problem: "is for annotations alone" }]
        : [],
  },
];

const classKeys: Section = {
  name: { member: "name", form: objectName, says: "The StorageClass.", example: "local-nvme" },
  provisioning: {
    member: "provisioning",
    form: oneOf("static", "dynamic", "auto"),
    says: "Whether volumes of the class can be made when they are needed. `auto` looks at the cluster.",
    without: "`auto`",
    example: "static",
  },
  pool: {
    member: "pool",
    form: text,
    says: "Classes that name the same pool draw on the same disk, in each segment or on each node.",
    without: "a pool of its own",
    example: "vg0",
  },
  capacity: {
    says: "Where nodes say how much of the class they have.",
    without: "what the driver publishes, if it does",
    section: {
      annotation: {
        member: "annotation",
        form: qualifiedName,
        says: "An annotation of nodes.",
        without: "`allocatable`",
        example: "example.com/lvm-free",
      },
      allocatable: {
        member: "allocatable",
        form: qualifiedName,
        says: "A resource in `status.allocatable` of nodes.",
        without: "`annotation`",
        example: "example.com/lvm",
      },
      pointer: {
        member: "pointer",
        form: jsonPointer,
        says: "Where in the annotation's text, which is JSON then, the value stands (RFC 6901).",
        without: "the whole text",
        example: "/pools/0/free",
      },
      unit: {
        member: "unit",
        form: unitSize,
        says: "What one unit of the value is.",
        without: "one byte",
        example: "1Gi",
      },
      means: {
        member: "means",
        form: oneOf("free", "total"),
        says: "`free`: what the driver has left now. `total`: all that there is.",
        without: "`free` for annotations, `total` for resources",
        example: "free",
      },
    },
    rules: capacityRules,
  },
};

export const classList: Listed = {
  listOf: classKeys,
  needs: ["name"],
  says: "What the cluster does not show of a StorageClass, or shows wrongly (docs/capacity.md).",
  example:
    "- { name: local-nvme, provisioning: static }\n- { name: lvm, capacity: { annotation: example.com/lvm-free } }",
  rules: [
    {
      says: "each class is named once",
      wrongs: (read) => twice(read, "name").map(({ at, value }) => ({ at, problem: `names class ${value} again` })),
    },
    {
      says: "a class with `provisioning: static` has neither `capacity` nor `pool`",
      schema: {
        items: {
          if: { required: ["provisioning"], properties: { provisioning: { const: "static" } } },
          // biome-ignore lint/suspicious/noThenProperty: JSON Schema's own name
          then: { properties: { capacity: { type: "null" }, pool: false } },
        },
      },
      wrongs: (read) => Array.from(read).flatMap(([index, entry]) => staticWrongs(index, entry)),
    },
    { says: "classes of one pool have capacities that mean the same, or none", wrongs: poolWrongs },
  ],
};

function staticWrongs(index: number, { provisioning, capacity, pool }: Read): Wrong[] {
  if (provisioning !== "static") return [];
  const own = Object.entries({ capacity, pool }).filter(([, value]) => value !== undefined);
  return own.map(([key]) => ({
    at: [index],
    problem: `has a ${key} to provision from, and "provisioning: static"`,
  }));
}

/** Members of one entry, as `classKeys` reads them. */
interface Entry {
  readonly name: string;
  readonly provisioning?: Provisioning;
  readonly pool?: string;
  readonly capacity?: {
    readonly annotation?: string;
    readonly allocatable?: string;
    readonly pointer?: string;
    readonly unit?: Bytes;
    readonly means?: CapacitySource["means"];
  };
}

export function readClasses(read: readonly Read[]): readonly ClassOverride[] {
  return (read as unknown as readonly Entry[]).map(({ name, provisioning = "auto", pool, capacity }) => ({
    name,
    provisioning,
    ...(pool !== undefined && { pool }),
    ...(capacity && { capacity: sourceOf(capacity) }),
  }));
}

/** Annotations mostly carry what a driver has left; the kubelet publishes all that there is of a resource. */
function sourceOf({ annotation, allocatable, pointer, ...more }: NonNullable<Entry["capacity"]>): CapacitySource {
  const isAnnotation = annotation !== undefined;
  return {
    from: isAnnotation ? "annotation" : "allocatable",
    name: annotation ?? allocatable ?? "",
    ...(pointer !== undefined && { pointer }),
    unit: more.unit ?? one,
    means: more.means ?? (isAnnotation ? "free" : "total"),
  };
}

function poolWrongs(read: ReadonlyMap<number, Read>): Wrong[] {
  const pools = new Map<string, ClassOverride>();
  const wrongs: Wrong[] = [];
  for (const [index, entry] of read) {
    const [override] = readClasses([entry]);
    if (override?.pool === undefined) continue;
    const { pool, capacity } = override;
    const first = pools.get(pool);
    if (!first) pools.set(pool, override);
    else if (first.capacity?.means !== capacity?.means) {
      const problem = `shares pool ${pool} with class ${first.name}: both need a capacity from nodes that means the same, or neither`;
      wrongs.push({ at: [index], problem });
    }
  }
  return wrongs;
}
