/** Does what an explanation says would help, by its words alone. */
import { nodeName, podUid } from "../../src/scheduling/names.ts";
import { makeCapacity, makeClass, makeCsiNode, makePV } from "./make.ts";
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
    says: /^Free space for \S+ of class (\S+) on node (\S+) for claims? .*: (\S+) are missing$/,
    act: ({ world }, [name = "", node = "", missing = ""]) =>
      change(world, name, node, (facts) => {
        const grow = (size: string): string => String(gigabytes(size) + gigabytes(missing));
        const total =
          facts.max !== undefined && gigabytes(facts.max) > gigabytes(facts.capacity) ? facts.max : facts.capacity;
        return { ...facts, capacity: grow(total) };
      }),
  },
  {
    deed: "publish",
    says: /^Check the provisioner of class (\S+): it publishes no capacity for node (\S+), and claims? .* needs? (\S+)$/,
    act: ({ world }, [name = "", on = "", capacity = ""]) =>
      void world.add(makeCapacity(`new-${name}`, { class: name, on, capacity })),
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

/** The first capacity object of the class that reaches the node and that `mend` knows. */
function change(world: World, name: string, node: string, mend: (facts: PoolFacts) => PoolFacts | undefined): void {
  for (const key of [...world.state.keys("capacity")].sort()) {
    const object = world.state.get("capacity", key);
    if (object?.class !== name || !key.endsWith(`-${node}`)) continue;
    const max = object.maximumVolumeSize;
    const mended = mend({
      capacity: String(object.capacity ?? 0n),
      ...(max !== undefined && { max: `${max >> 30n}Gi` }),
    });
    if (!mended) continue;
    world.add(makeCapacity(key.split("/")[1] ?? "", { class: name, on: node, ...mended, version: String(++version) }));
    return;
  }
  throw new Error(`no capacity of class ${name} on ${node}`);
}
