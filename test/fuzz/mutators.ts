/** What is done to a body whose structure is known. Each draws all it needs from the generator, so that a case is its numbers. */
import type { Random } from "../oracle/random.ts";
import type { Splice, Spot, SpottedText } from "./spots.ts";

export interface Mutator {
  readonly name: string;
  /** Undefined where the spot has nothing that it could be done to. */
  readonly splice: (random: Random, seed: SpottedText, spot: Spot) => Splice | undefined;
}

/** Each the more rarely the larger: most of a million cases must be small to be run at all. */
const lengths = [253, 254, 300, 2_000, 70_000] as const;
const depths = [2, 3, 20, 600, 5_000] as const;
const copies = [2, 3, 10, 70, 300] as const;
const counts = [0, 1, 2, 65, 2_000] as const;

function sized<T>(random: Random, from: readonly T[]): T {
  return random.once(40) ? random.pick(from.slice(-1)) : random.pick(from.slice(0, -1));
}

/** JSON texts that are no size, no name, no count. */
const numbers = [
  "0",
  "-0",
  "-1",
  "1e309",
  "-1e309",
  "1e-400",
  "9007199254740993",
  "18446744073709551616",
  "0.1e1",
  "1E+2",
  `1${"0".repeat(400)}`,
  `0.${"3".repeat(400)}`,
] as const;

const texts = [
  "",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "n1/../n2",
  "..",
  ".",
  "a/b",
  "%2e%2e%2f",
  "%s%n%d",
  "\u0000",
  "line\nline\r\nx: y",
  "\ud800",
  "\u202egnp.exe",
  "Ｎ１",
  "n001 ",
  "NaN",
  "10Gi",
  "[object Object]",
  "<script>alert(1)</script>",
  '"}]}',
] as const;

const keys = ["__proto__", "constructor", "prototype", "hasOwnProperty", "", "toJSON", "length", "0"] as const;
const strangers = ["null", "true", "false", "{}", "[]", '""', "0", '{"__proto__":{"fits":true}}'] as const;

const polluting =
  '"__proto__":{"nodeName":"n001","uid":"polluted","isAdmin":true},"constructor":{"prototype":{"fits":true}}';

export const mutators: readonly Mutator[] = [
  value("another type", (random) => random.pick(strangers)),
  value("a hostile number", (random) => random.pick(numbers)),
  value("a hostile text", (random) => JSON.stringify(random.pick(texts))),
  value("a long text", (random) => `"${random.pick(["x", "\\u0041", "é"]).repeat(sized(random, lengths))}"`),
  value("deep nesting", (random) => {
    const depth = sized(random, depths);
    const [open, close] = random.pick([
      ["[", "]"],
      ['{"a":', "}"],
    ] as const);
    return `${open.repeat(depth)}1${close.repeat(depth)}`;
  }),
  {
    name: "wrapped",
    splice: (random, { text }, { at, end }) => {
      const own = text.slice(at, end);
      return { at, end, text: random.pick([`[${own}]`, `{"":${own}}`, `[[${own}],${own}]`]) };
    },
  },
  { name: "taken out", splice: (_, __, { cutFrom, cutTo, path }) => (path === "" ? undefined : cut(cutFrom, cutTo)) },
  // The comma stays.
  { name: "torn out", splice: (_, __, { from, end }) => cut(from, end) },
  member("another key", (random, key) => ({ key: random.pick(keys), before: key })),
  member("the key in other letters", (random, key) => ({
    key: random.pick([key.toUpperCase(), key.toLowerCase(), `${key} `, key.replace("s", "ſ").replace("k", "K")]),
    before: key,
  })),
  {
    name: "the key escaped",
    splice: (_, { text }, { from, at, isMember }) => {
      if (!isMember) return undefined;
      const escaped = [...keyAt(text, from, at)].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
      return { at: from, end: at, text: `"${escaped.join("")}":` };
    },
  },
  {
    name: "told twice",
    splice: (random, { text }, { from, at, end, isMember }) => {
      const own = text.slice(from, end);
      if (!isMember) return { at: end, end, text: `,${own}` };
      const key = keyAt(text, from, at);
      const spelt = random.pick([key, key, key.toUpperCase(), key.toLowerCase()]);
      const second = `${JSON.stringify(spelt)}:${random.pick([...strangers, text.slice(at, end)])}`;
      return random.once(2) ? { at: end, end, text: `,${second}` } : { at: from, end: from, text: `${second},` };
    },
  },
  {
    name: "told many times",
    splice: (random, { text }, { from, end, path }) =>
      path === "" ? undefined : { at: end, end, text: `,${text.slice(from, end)}`.repeat(sized(random, copies)) },
  },
  {
    name: "keys of prototypes beside it",
    splice: (_, __, { from, isMember }) => (isMember ? { at: from, end: from, text: `${polluting},` } : undefined),
  },
  {
    name: "the value of another spot",
    splice: (random, { text, spots }, { at, end }) => {
      const other = random.pick(spots);
      return { at, end, text: text.slice(other.at, other.end) };
    },
  },
  {
    name: "many elements",
    splice: (random, { text }, { at, end, isContainer }) => {
      if (!isContainer || text[at] !== "[") return undefined;
      const one = random.pick([
        '"n001"',
        '"n9"',
        "{}",
        "null",
        '{"name":"v","persistentVolumeClaim":{"claimName":"x"}}',
      ]);
      return { at, end, text: `[${Array.from({ length: sized(random, counts) }, () => one).join()}]` };
    },
  },
  {
    name: "blanks around it",
    splice: (random, _, { at }) => ({
      at,
      end: at,
      text: random.pick([" ", "\t\r\n", "\u00a0", "\ufeff"]).repeat(sized(random, copies)),
    }),
  },
];

function value(name: string, make: (random: Random) => string): Mutator {
  return { name, splice: (random, _, { at, end }) => ({ at, end, text: make(random) }) };
}

function member(name: string, rename: (random: Random, key: string) => { key: string; before: string }): Mutator {
  return {
    name,
    splice: (random, { text }, { from, at, isMember }) => {
      if (!isMember) return undefined;
      const { key } = rename(random, keyAt(text, from, at));
      return { at: from, end: at, text: `${JSON.stringify(key)}:` };
    },
  };
}

function keyAt(text: string, from: number, at: number): string {
  return String(JSON.parse(text.slice(from, at - 1)));
}

function cut(at: number, end: number): Splice {
  return { at, end, text: "" };
}

export interface ByteMutator {
  readonly name: string;
  readonly bend: (random: Random, body: Buffer) => Buffer;
}

/** What is done to the bytes, whatever they mean. */
export const byteMutators: readonly ByteMutator[] = [
  { name: "cut short", bend: (random, body) => body.subarray(0, random.int(0, body.length)) },
  { name: "a bit turned", bend: (random, body) => changed(body, random, (byte) => byte ^ (1 << random.int(0, 7))) },
  {
    name: "a byte that is no UTF-8",
    bend: (random, body) => changed(body, random, () => random.pick([0xff, 0xc0, 0xed, 0x80])),
  },
  { name: "a zero byte", bend: (random, body) => changed(body, random, () => 0) },
  {
    name: "a byte put in",
    bend: (random, body) => {
      const at = random.int(0, body.length);
      return Buffer.concat([body.subarray(0, at), Buffer.from([random.int(0, 255)]), body.subarray(at)]);
    },
  },
  {
    name: "told twice over",
    bend: (random, body) => Buffer.concat([body, Buffer.from(random.pick(["", "\n", ","])), body]),
  },
  { name: "a byte order mark", bend: (_, body) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body]) },
  { name: "UTF-16", bend: (_, body) => Buffer.from(body.toString(), "utf16le") },
  {
    name: "something after it",
    bend: (random, body) => Buffer.concat([body, Buffer.from(random.pick(["}", "\u0000", " ", "//", "null"]))]),
  },
  { name: "no body", bend: () => Buffer.alloc(0) },
  {
    name: "too large",
    bend: (random, body) => Buffer.concat([body, Buffer.alloc(sized(random, [0, 70_000, 1_100_000]), " ")]),
  },
];

function changed(body: Buffer, random: Random, change: (byte: number) => number): Buffer {
  if (body.length === 0) return body;
  const copy = Buffer.from(body);
  const at = random.int(0, copy.length - 1);
  copy[at] = change(copy[at] ?? 0) & 0xff;
  return copy;
}

/** What may stand in place of `content-type`. */
export const contentTypes: readonly (string | undefined)[] = [
  undefined,
  "",
  "text/plain",
  "application/json; charset=utf-16",
  "APPLICATION/JSON",
  "application/jsonp",
  "application/json, text/html",
  "multipart/form-data; boundary=x",
  "application/x-www-form-urlencoded",
  "application/vnd.kubernetes.protobuf",
  "application/json\t;",
  "__proto__",
];

export const methods = [
  "GET",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "HEAD",
  "OPTIONS",
  "TRACE",
  "post",
  "__proto__",
] as const;

/** How else a path may be written. */
export const pathMutators: readonly ((random: Random, path: string) => string)[] = [
  (_, path) => `${path}/`,
  (_, path) => `/${path}`,
  (_, path) => `${path}?a=b&__proto__=c`,
  (_, path) => `${path}#x`,
  (_, path) => path.toUpperCase(),
  (_, path) => path.replace(/[^/]+$/, "__proto__"),
  (_, path) => path.replace(/[^/]+$/, "%2e%2e"),
  (_, path) => path.replace(/[^/]+$/, "%ff"),
  (_, path) => path.replace(/[^/]+$/, "%"),
  (_, path) => path.replace(/[^/]+$/, "a%2fb"),
  (_, path) => path.replace(/[^/]+$/, ""),
  (random, path) => path.replace(/[^/]+$/, "x".repeat(sized(random, lengths))),
  (random, path) => path + "/..".repeat(random.int(1, 300)),
  (random) =>
    random.pick([
      "",
      "/",
      "*",
      "http://h/v1/filter",
      "/v1",
      "/v1/__proto__",
      "/metrics/x",
      "/debug/explain/constructor/toString",
      "/debug",
      "/debug/pods/%3Cscript%3Ealert(1)%3C/script%3E",
      "/debug/pods/%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E/x",
      "/debug/page.js/..",
    ]),
];
