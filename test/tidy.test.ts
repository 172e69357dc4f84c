/** The architecture as a test: what each room may import, what it may never touch, and how long things may be. */
import { globSync, readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { expect, test } from "vitest";

/** What each room of src/ may import besides itself and `node:` types. docs/architecture.md draws the same picture. */
const mayImport: Record<string, readonly string[]> = {
  scheduling: [],
  runtime: [],
  apis: ["scheduling"],
  http: ["runtime", "fastify"],
  kube: ["runtime", "apis", "@kubernetes/client-node"],
  cluster: ["scheduling", "apis", "kube", "runtime"],
  binding: ["scheduling", "apis", "kube", "cluster", "runtime"],
  election: ["kube", "runtime"],
  permissions: ["scheduling", "apis", "kube", "runtime", "yaml"],
  "scheduler-config": ["scheduling", "runtime", "config", "yaml"],
  server: [
    "scheduling",
    "apis",
    "kube",
    "cluster",
    "binding",
    "election",
    "runtime",
    "metrics.ts",
    "metrics",
    "log.ts",
    "config.ts",
    "config",
    "lru-cache",
  ],
  sandbox: ["scheduling", "runtime", "http", "yaml"],
  "metrics.ts": ["prom-client", "scheduling", "runtime", "metrics"],
  metrics: ["prom-client", "scheduling"],
  "log.ts": ["pino", "runtime"],
  "config.ts": ["scheduling", "runtime", "config"],
  config: ["scheduling", "runtime", "yaml", "ajv/dist/2020.js", "config.ts"],
  "main.ts": ["cli", "runtime"],
  cli: ["*"],
};

/** The sandbox must not agree with Berth by construction: of the core it knows names and quantities alone. */
const sandboxMayKnow = ["src/scheduling/names.ts", "src/scheduling/quantity.ts"];

/** Time, randomness and the network are handed in where the simulation must own them (docs/architecture.md). */
const injected = ["cluster", "binding", "election", "server", "sandbox"];
const outside =
  /\bDate\.now\b|new Date\(\)|\bset(Timeout|Interval|Immediate)\b|AbortSignal\.timeout|\bMath\.random\b|\brandomUUID\b|\brandomBytes\b|\bfetch\(|"node:(http|https|net|tls|crypto|timers)/;
const moduleState = /^(export )?(let|var) |^(export )?const \w+(: [^=]+)? = new (Map|Set|WeakMap|WeakSet)\(\);/m;

/** The core computes on what it is given. */
const impure =
  /\bDate\b|\bperformance\.|\bMath\.random\b|\bset(Timeout|Interval|Immediate)\b|\bprocess\.|\basync\b|\bawait\b|\bconsole\b|\bPromise\b|from "node:/;

const linesMax = 300;
const functionLinesMax = 60;

const roomOf = (path: string): string => relative("src", path).split("/")[0] ?? "";
const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
const files = globSync("src/**/*.ts")
  .sort()
  .map((path) => {
    const text = readFileSync(path, "utf8");
    return { path, room: roomOf(path), text, code: withoutComments(text) };
  });

interface Import {
  readonly from: string;
  readonly path: string | undefined;
}

function importsOf(path: string, code: string): Import[] {
  const statement = /^(?:import|export)\b[^;]*?\bfrom "([^"]+)";|^import "([^"]+)";|\bimport\("([^"]+)"\)/gm;
  const found = [...code.matchAll(statement)].map(([, a, b, c]) => a ?? b ?? c ?? "");
  return found.map((from) => {
    if (!from.startsWith(".")) return { from, path: undefined };
    const target = relative(".", resolve(dirname(path), from));
    return { from: roomOf(target), path: target };
  });
}

test("the tree has rooms to check", () => {
  expect(new Set(files.map(({ room }) => room)).size).toBeGreaterThan(8);
});

test.for(files)("$path imports only what its room may", ({ path, room, code }) => {
  const allowed = mayImport[room] ?? [];
  if (allowed.includes("*")) return;
  const strangers = importsOf(path, code)
    .map(({ from }) => from)
    .filter((from) => from !== room && !allowed.includes(from) && !(from.startsWith("node:") && room !== "scheduling"));
  expect(strangers).toEqual([]);
});

test.for(files.filter(({ room }) => room === "sandbox"))(
  "$path knows only names and quantities of the core",
  (file) => {
    const known = importsOf(file.path, file.code).flatMap(({ from, path }) =>
      from === "scheduling" && path ? [path] : [],
    );
    expect(known.filter((path) => !sandboxMayKnow.includes(path))).toEqual([]);
  },
);

test.for(files.filter(({ room }) => room === "scheduling"))("$path is pure", ({ code }) => {
  expect(code.match(impure)?.[0]).toBeUndefined();
});

test.for(files.filter(({ room }) => injected.includes(room)))(
  "$path is handed time, chance and network",
  ({ code }) => {
    expect(code.match(outside)?.[0]).toBeUndefined();
  },
);

test.for(files.filter(({ room }) => injected.includes(room)))("$path keeps no state of its own", ({ code }) => {
  expect(code.match(moduleState)?.[0]).toBeUndefined();
});

test.for(files)("$path fits in the head", ({ text, code }) => {
  expect(text.split("\n").length).toBeLessThanOrEqual(linesMax);
  expect(longestFunction(code)).toBeLessThanOrEqual(functionLinesMax);
});

test.for(files)("$path follows the house rules", ({ path, room, code }) => {
  const isCommand = room === "main.ts" || room === "cli" || room.startsWith("config");
  expect(code.match(/\bconsole\./)?.[0]).toBeUndefined();
  expect(code.match(/^export default/m)?.[0]).toBeUndefined();
  expect(code.match(/\b(enum|namespace) \w+ \{/)?.[0]).toBeUndefined();
  expect(code.match(/: any\b|<any>|as any\b/)?.[0]).toBeUndefined();
  if (!isCommand && path !== "src/runtime/node-runtime.ts") expect(code.match(/\bprocess\./)?.[0]).toBeUndefined();
});

test("every exported name is used by another file, or is a command's", () => {
  const everything = [
    ...files,
    ...globSync("{test,bench}/**/*.ts").map((path) => ({ path, text: readFileSync(path, "utf8") })),
  ];
  const unused = files.flatMap(({ path, code }) =>
    [...code.matchAll(/^export (?:declare |async )*(?:const|function\*?|class|interface|type) (\w+)/gm)].flatMap(
      ([, name = ""]) => {
        const word = new RegExp(`\\b${name}\\b`);
        const elsewhere = everything.some((other) => other.path !== path && word.test(other.text));
        const here = (code.match(new RegExp(`\\b${name}\\b`, "g"))?.length ?? 0) > 1;
        const dashed = name.replace(/Command$/, "").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
        const isCommand = path === `src/cli/${dashed}.ts`;
        return elsewhere || here || isCommand ? [] : [`${path}: ${name}`];
      },
    ),
  );
  expect(unused).toEqual([]);
});

/** Lines of the longest function or method, by the indentation that the formatter gives its closing brace. */
function longestFunction(code: string): number {
  const lines = code.split("\n");
  let longest = 0;
  for (const [start, line] of lines.entries()) {
    const head =
      /^(\s*)(?:export )?(?:async )?function\b.*\{$/.exec(line) ??
      /^( {2})(?:static |async |get |set |\*)*[#\w]+(?:<.*>)?\(.*\)(?:: .*)? \{$/.exec(line) ??
      /^(\s*)(?:export )?const \w+.*=> \{$/.exec(line);
    if (!head || (head[1] === "  " && / => \{$/.test(line) && !/^\s*const /.test(line))) continue;
    const end = lines.findIndex(
      (other, index) => index > start && (other === `${head[1]}}` || other === `${head[1]}};`),
    );
    longest = Math.max(longest, end - start + 1);
  }
  return longest;
}
