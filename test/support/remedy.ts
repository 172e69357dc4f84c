/** Does what an explanation says would help, by its words alone. */
import { nodeName, podUid } from "../../src/scheduling/names.ts";
import type { Capacity } from "../../src/scheduling/objects.ts";
import { makeCapacity, makeClass, makeCsiNode, makePV } from "./make.ts";
import type { NodeValues } from "./node-values.ts";
import type { World } from "./world.ts";

/** What the words leave open: the objects as they were made, to be changed and added again. */
export interface Made {
  readonly world: World;
  /** Labels that satisfy a claim's selector, by claim. */
  readonly labels: ReadonlyMap<string, Record<string, string>>;
  /** Provisioner by class. */
  readonly provisioners: ReadonlyMap<string, string>;
  /** UIDs of other Pods. */
  readonly others: readonly string[];
  /** Names of the pools that classes share, by class. */
  readonly pools?: ReadonlyMap<string, string>;
  /** What nodes say themselves. */
  readonly values?: NodeValues;
}

/** What was done: "add", "free", …; "ask again" where the words promise no more than that. */
type Deed = string;

interface Step {
  readonly deed: Deed;
  readonly says: RegExp;
  readonly act: (made: Made, words: string[]) => void;
}

let version = 1_000;

const gigabytes = (text: string): bigint => {
  const [, number = "", unit = ""] = /^(\d+)(Gi)?$/.exec(text) ?? [];
  return BigInt(number) << (unit === "Gi" ? 30n : 0n);
};

const steps: readonly Step[] = [
  {
    deed: "add",
    says: /^Add a volume of class (\S+) with at least (\S+) \((.*)\) on node (\S+) for claim d\/(\S+)$/,
    act: ({ world, labels }, [name = "", capacity = "", properties = "", on = "", claim = ""]) => {
      const [volumeMode = "", modes = "", ...more] = properties.split(", ");
      const attributes = more.find((one) => one.startsWith("volumeAttributesClass "))?.split(" ")[1];
      const chosen = more.includes("labels matching the claim's selector") ? labels.get(claim) : undefined;
      world.add(
        makePV(`new-${claim}`, {
          class: name,
          capacity,
          volumeMode,
          on,
          modes: modes.split("+"),
          ...(attributes !== undefined && { attributesClass: attributes }),
          ...(chosen && { labels: chosen }),
        }),
      );
    },
  },
  {
    deed: "wait",
    says: /^Wait: what claims? .* on node \S+ is promised to another Pod right now$/,
    act: ({ world, others }) => {
      for (const uid of others) world.state.reservations.forget(podUid(uid));
    },
  },
  {
    deed: "raise",
    says: /^Let the largest volume of class (\S+) on node (\S+) be (\S+) instead of (\S+) for claims? .*$/,
    act: ({ world }, [name = "", node = "", max = "", before = ""]) =>
      change(world, name, node, (facts) => (facts.max === before ? { ...facts, max } : undefined)),
  },
  {
    deed: "free",
    says: /^Free space for \S+ of class (\S+(?: and \S+)*) on node (\S+) for claims? .*: (\S+) are missing$/,
    act: (made, [names = "", node = "", missing = ""]) => {
      for (const name of siblings(made, names.split(" and "))) {
        if (made.values?.grow(name, node, gigabytes(missing))) continue;
        if (objectOf(made.world, name, node) === undefined) continue;
        change(made.world, name, node, (facts) => ({ ...facts, capacity: String(sizeOf(facts) + gigabytes(missing)) }));
      }
    },
  },
  {
    deed: "publish",
    says: /^Check the provisioner of class (\S+): it publishes no capacity for node (\S+), and claims? .* needs? (\S+)$/,
    act: (made, [name = "", on = "", bytes = ""]) => {
      // Classes of one pool publish the same bytes.
      const known = siblings(made, [name]).flatMap((one) => objectOf(made.world, one, on) ?? []);
      const [first = gigabytes(bytes)] = known.map((object) => sizeOf(factsOf(object)));
      made.world.add(makeCapacity(`new-${name}-${on}`, { class: name, on, capacity: String(first) }));
    },
  },
  {
    deed: "put",
    says: /^Put a size into \S+(?: \S+)* \S+ of node (\S+), for class (\S+): claims? .* needs? (\S+)$/,
    act: (made, [node = "", name = "", bytes = ""]) =>
      made.values?.put(name, node, gigabytes(bytes), siblings(made, [name])),
  },
  {
    deed: "allow",
    says: /^Let allowedTopologies of class (\S+) include node \S+$/,
    act: ({ world, provisioners }, [name = ""]) =>
      void world.add(makeClass(name, { provisioner: provisioners.get(name) ?? "" })),
  },
  {
    deed: "run",
    says: /^Run the driver of class (\S+) on node (\S+)$/,
    act: ({ world, provisioners }, [name = "", node = ""]) => {
      const drivers = world.state.get("csiNode", nodeName(node))?.drivers ?? [];
      world.add(makeCsiNode(node, ...drivers, provisioners.get(name) ?? ""));
    },
  },
  {
    deed: "restore",
    says: /^Restore volume (\S+), to which claim d\/(\S+) is bound and which does not exist; or delete the claim$/,
    act: ({ world }, [volume = "", claim = ""]) => void world.add(makePV(volume, { claim, claimUid: `u${claim}` })),
  },
  { deed: "offer", says: /^(?:Claim|A volume) .*; offer node (\S+)$/, act: () => {} },
  { deed: "ask again", says: /^.*(?:, and ask again|, which no node can reach: bring back a node .*)$/, act: () => {} },
];

/** Follows the words, whichever way they are joined. Throws where they are not understood. */
export function follow(made: Made, suggestion: string): Deed[] {
  const [before, there] = suggestion.split(/; offer node \S+, and there: /);
  const says = (there ?? before ?? "").replace(/; no other node will do while .*$/, "");
  const deeds = there === undefined ? [] : ["offer"];
  // A sentence may hold the separator itself.
  let left = says;
  while (left !== "") {
    const ends = [...left.matchAll(/; |$/g)].map(({ index }) => index);
    const found = ends.flatMap((end) => {
      const sentence = left.slice(0, end);
      const step = steps.find(({ says }) => says.test(sentence));
      return step ? [{ step, sentence }] : [];
    })[0];
    if (!found) throw new Error(`no such advice: ${left}`);
    found.step.act(made, found.step.says.exec(found.sentence)?.slice(1) ?? []);
    deeds.push(found.step.deed);
    left = left.slice(found.sentence.length).replace(/^; /, "");
  }
  return deeds;
}

interface PoolFacts {
  readonly capacity: string;
  readonly max?: string;
}

/** The classes, and all that share their pools. */
function siblings({ pools }: Made, names: readonly string[]): string[] {
  const shared = new Set(names.map((name) => pools?.get(name)));
  const others = [...(pools ?? [])].flatMap(([name, pool]) => (shared.has(pool) ? [name] : []));
  return [...new Set([...names, ...others])];
}

/** What a pool of this object has in all (decision 10). */
function sizeOf({ capacity, max = "0" }: PoolFacts): bigint {
  const [published, largest] = [gigabytes(capacity), gigabytes(max)];
  if (largest > published) return largest;
  return published;
}

function factsOf({ capacity, maximumVolumeSize: max }: Capacity): PoolFacts {
  return { capacity: String(capacity ?? 0n), ...(max !== undefined && { max: `${max >> 30n}Gi` }) };
}

/** The first capacity object of the class for the node by name. */
function objectOf(world: World, name: string, node: string): Capacity | undefined {
  const keys = [...world.state.keys("capacity")].sort().filter((key) => key.endsWith(`-${node}`));
  return keys.map((key) => world.state.get("capacity", key)).find((object) => object?.class === name);
}

function change(world: World, name: string, node: string, mend: (facts: PoolFacts) => PoolFacts | undefined): void {
  const object = objectOf(world, name, node);
  const mended = object && mend(factsOf(object));
  if (!mended) throw new Error(`no such capacity of class ${name} on ${node}`);
  const bare = object.key.split("/")[1] ?? "";
  world.add(makeCapacity(bare, { class: name, on: node, ...mended, version: String(++version) }));
}
