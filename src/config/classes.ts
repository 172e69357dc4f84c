/** The `classes` of a configuration: what the cluster does not show of a storage class, or shows wrongly. */
import type { CapacitySource } from "../scheduling/node-capacity.ts";
import { type Bytes, one, parseBytes } from "../scheduling/quantity.ts";
import type { Field, Read, Section } from "./document.ts";
import { type Form, oneOf, text } from "./values.ts";

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

const jsonPointer: Form<string> = {
  expected: 'a JSON pointer such as "/pools/0/free"',
  read: (value) => (typeof value === "string" && /^(\/([^~/]|~[01])*)+$/.test(value) ? value : undefined),
};

const unit: Form<Bytes> = {
  expected: 'the size of one unit, such as "1Gi"',
  read: (value) => {
    const parsed = typeof value === "string" || typeof value === "number" ? parseBytes(String(value)) : undefined;
    return parsed === undefined || parsed < 1n ? undefined : parsed;
  },
};

const field = (member: string, form: Form<unknown>): Field => ({ member, form });

export const classKeys: Section = {
  name: field("name", text),
  provisioning: field("provisioning", oneOf("static", "dynamic", "auto")),
  pool: field("pool", text),
  capacity: {
    section: {
      annotation: field("annotation", text),
      allocatable: field("allocatable", text),
      pointer: field("pointer", jsonPointer),
      unit: field("unit", unit),
      means: field("means", oneOf("free", "total")),
    },
    check: capacityProblem,
  },
};

function capacityProblem(read: Read): { key: string; problem: string } | undefined {
  const { annotation, allocatable, pointer } = read;
  if (annotation === undefined && allocatable === undefined) {
    return {
      key: "annotation",
      problem: "is missing: name the annotation, or the allocatable resource, that nodes carry",
    };
  }
  if (annotation !== undefined && allocatable !== undefined) {
    return { key: "allocatable", problem: "is one source too many: annotation is given" };
  }
  return pointer !== undefined && annotation === undefined
    ? { key: "pointer", problem: "is for annotations alone" }
    : undefined;
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

/** What is wrong with one class beside the others. */
export function classesProblem(read: readonly Read[]): { index: number; problem: string } | undefined {
  const known = new Map<string, ClassOverride>();
  const pools = new Map<string, ClassOverride>();
  for (const [index, override] of readClasses(read).entries()) {
    const { name, provisioning, pool, capacity } = override;
    if (known.has(name)) return { index, problem: `names class ${name} again` };
    known.set(name, override);
    if (capacity && provisioning === "static") {
      return { index, problem: 'has a capacity to provision from, and "provisioning: static"' };
    }
    if (pool !== undefined && provisioning === "static") {
      return { index, problem: 'has a pool to provision from, and "provisioning: static"' };
    }
    const first = pool === undefined ? undefined : pools.get(pool);
    if (pool !== undefined && !first) pools.set(pool, override);
    if (first && first.capacity?.means !== capacity?.means) {
      const problem = `shares pool ${pool} with class ${first.name}: both need a capacity from nodes that means the same, or neither`;
      return { index, problem };
    }
  }
  return undefined;
}
