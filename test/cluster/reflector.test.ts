/** One kind kept in step with an API that misbehaves in every way field reports tell of. */
import { afterEach, expect, test } from "vitest";
import {
  failure,
  gone,
  json,
  listOf,
  makeWorld,
  object,
  refused,
  type Script,
  Stream,
  silent,
  type World,
  watchOn,
} from "./support.ts";

const worlds: World[] = [];
const start: typeof makeWorld = (script, options) => {
  const world = makeWorld(script, options);
  worlds.push(world);
  return world;
};

afterEach(async () => {
  for (const world of worlds.splice(0)) {
    await world.stop();
    // Nothing of a stopped reflector lives on.
    expect(world.runtime.pending()).toBe(0);
  }
});

/** Lists `a` at version 10 and then follows the streams, one a watch. */
const streams =
  (...list: readonly Stream[]): Script =>
  (asked, signal) =>
    asked.isWatch ? watchOn(list[asked.nth] ?? new Stream(), signal) : listOf("10", [object("a", "1")]);

test("a list in pages is followed by a watch from its version", async () => {
  const world = start((asked, signal) => {
    if (asked.isWatch) return silent(asked, signal);
    return asked.query.get("continue") ? listOf("10", [object("b", "2")]) : listOf("10", [object("a", "1")], "next");
  });
  await world.runtime.settle();
  expect([...world.objects]).toEqual([
    ["a", "1"],
    ["b", "2"],
  ]);
  expect(world.reflector.lists).toBe(1);
  const [first, second, watch] = world.asked;
  expect(first?.query.get("limit")).toBe("50");
  expect(second?.query.get("continue")).toBe("next");
  expect(watch?.query.get("resourceVersion")).toBe("10");
  expect(watch?.query.get("allowWatchBookmarks")).toBe("true");
  expect(Number(watch?.query.get("timeoutSeconds"))).toBeGreaterThanOrEqual(300);
  expect(Number(watch?.query.get("timeoutSeconds"))).toBeLessThanOrEqual(600);
});

const sizes: Record<string, { bytes: number; limits: string[] }> = {
  "small ones by 500": { bytes: 100, limits: ["50", "500", "500"] },
  "large ones by as many as make 1 MiB": { bytes: 20_000, limits: ["50", "52", "52"] },
  "those of more than 1 MiB one by one": { bytes: 1_100_000, limits: ["50", "1", "1"] },
};

test.for(Object.entries(sizes))("a page is parsed in one turn, so objects come %s", async ([, { bytes, limits }]) => {
  const world = start((asked, signal) => {
    if (asked.isWatch) return silent(asked, signal);
    const items = [object(`v${asked.nth}`, "1", { data: "x".repeat(bytes) })];
    return listOf("10", items, asked.nth < 2 ? "next" : undefined);
  });
  await world.runtime.settle();
  expect(world.asked.filter(({ isWatch }) => !isWatch).map(({ query }) => query.get("limit"))).toEqual(limits);
});

test("pods are asked for by phase, in lists and watches", async () => {
  const world = start((asked, signal) => (asked.isWatch ? silent(asked, signal) : listOf("10", [])), { kind: "pod" });
  await world.runtime.settle();
  expect(world.asked.map(({ query }) => query.get("fieldSelector"))).toEqual([
    "status.phase=Pending",
    "status.phase=Pending",
  ]);
});

test("events are taken in order, whatever chunks they come in", async () => {
  const stream = new Stream();
  const world = start(streams(stream));
  await world.runtime.settle();
  const lines = [
    { type: "ADDED", object: object("b", "11") },
    { type: "MODIFIED", object: object("ä", "12") },
    { type: "DELETED", object: object("b", "13") },
  ];
  // Byte by byte: lines, escapes and the two bytes of "ä" are cut anywhere.
  for (const byte of Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join("")))
    stream.write(Buffer.of(byte));
  await world.runtime.settle();
  expect(world.happened.slice(1)).toEqual(["put b@11", "put ä@12", "remove b"]);
});

test("a watch that the server ends is resumed at once from the last version (FR-107)", async () => {
  const [first, second] = [new Stream(), new Stream()];
  const world = start(streams(first, second));
  await world.runtime.settle();
  first.send("ADDED", object("b", "11"));
  await world.runtime.advance(30_000);
  first.end();
  await world.runtime.settle();
  expect(world.asked.map(({ isWatch, query }) => isWatch && query.get("resourceVersion"))).toEqual([false, "10", "11"]);
});

test("bookmarks carry a quiet kind past the expiry of its version, without a list (FR-115)", async () => {
  const [first, second] = [new Stream(), new Stream()];
  const world = start(streams(first, second));
  for (let minute = 1; minute <= 120; minute++) {
    await world.runtime.advance(60_000);
    first.bookmark(String(1000 * minute));
  }
  await world.runtime.settle();
  first.end();
  await world.runtime.settle();
  expect(world.asked).toHaveLength(3);
  expect(world.asked[2]?.query.get("resourceVersion")).toBe("120000");
  expect(world.happened).toEqual(["put a@1"]);
});

const expiries: Record<string, (signal: AbortSignal) => ReturnType<Script>> = {
  "as the answer to a watch": () => gone(),
  "as an event of a watch": (signal) => {
    const stream = new Stream();
    stream.send("ERROR", { kind: "Status", code: 410, reason: "Expired" });
    return watchOn(stream, signal);
  },
};

test.for(Object.entries(expiries))(
  "410 %s leads to a new list, which shows what was deleted meanwhile",
  async ([, expiry]) => {
    const world = start((asked, signal) => {
      if (asked.isWatch) return asked.nth === 0 ? expiry(signal) : silent(asked, signal);
      return asked.nth === 0
        ? listOf("10", [object("a", "1"), object("b", "2")])
        : listOf("90", [object("b", "2"), object("c", "80")]);
    });
    await world.runtime.advance(5_000);
    expect([...world.objects]).toEqual([
      ["b", "2"],
      ["c", "80"],
    ]);
    expect(world.happened.at(-1)).toBe("remove a");
    expect(world.asked.at(-1)?.query.get("resourceVersion")).toBe("90");
    expect(world.reflector.lists).toBe(2);
  },
);

test.for(Object.entries(expiries))(
  "410 %s after an outage is the end of it: the list waits no longer",
  async ([, expiry]) => {
    const stream = new Stream();
    const world = start(streams(stream));
    await world.runtime.settle();
    world.script = () => refused();
    stream.reset();
    await world.runtime.advance(20_000);
    // The server is back, and knows no old version any more.
    let isExpired = false;
    world.script = (asked, signal) => {
      if (!asked.isWatch) return listOf("90", [object("b", "80")]);
      if (isExpired) return silent(asked, signal);
      isExpired = true;
      return expiry(signal);
    };
    await world.runtime.advance(40_000);
    const [expired, list] = world.asked.slice(world.asked.findLastIndex(({ isWatch }) => !isWatch) - 1);
    expect([expired?.isWatch, list?.isWatch]).toEqual([true, false]);
    expect((list?.at ?? 0) - (expired?.at ?? 0)).toBeLessThan(1_100);
    expect([...world.objects.keys()]).toEqual(["b"]);
  },
);

test("nothing is removed before the new list is complete", async () => {
  const world = start((asked, signal) => {
    if (asked.isWatch) return asked.nth === 0 ? gone() : silent(asked, signal);
    if (asked.nth === 0) return listOf("10", [object("a", "1"), object("b", "2")]);
    return asked.query.get("continue") ? failure(500) : listOf("90", [object("b", "2")], "next");
  });
  await world.runtime.advance(8_000);
  expect([...world.objects.keys()]).toEqual(["a", "b"]);
});

test("a page that fails is asked for again, and the list goes on", async () => {
  const world = start((asked, signal) => {
    if (asked.isWatch) return silent(asked, signal);
    if (asked.nth === 0) return listOf("10", [object("a", "1")], "next");
    return asked.nth === 1 ? failure(503) : listOf("10", [object("b", "2")]);
  });
  await world.runtime.advance(3_000);
  expect(world.asked.map(({ query }) => query.get("continue"))).toEqual([null, "next", "next", null]);
  expect([...world.objects.keys()]).toEqual(["a", "b"]);
});

test("a continue token that has expired starts the list anew", async () => {
  const world = start((asked, signal) => {
    if (asked.isWatch) return silent(asked, signal);
    if (asked.nth === 1) return gone();
    return asked.nth === 0
      ? listOf("10", [object("a", "1"), object("x", "1")], "next")
      : listOf("20", [object("a", "1")]);
  });
  await world.runtime.advance(3_000);
  // What only the broken list had shown is swept too.
  expect([...world.objects.keys()]).toEqual(["a"]);
  expect(world.reflector.lists).toBe(1);
});

const storms: Record<string, Script> = {
  "every watch answers 410": (asked) => (asked.isWatch ? gone() : listOf("10", [object("a", "1")])),
  "every continue token has expired": (asked) => (asked.query.get("continue") ? gone() : listOf("10", [], "next")),
  "every list answers 500": () => failure(500),
  "every connection is refused": () => refused(),
  "every watch is closed at once": (asked) =>
    asked.isWatch ? { status: 200, headers: {}, body: "" } : listOf("10", []),
  "every watch breaks within a line": (asked) =>
    asked.isWatch ? { status: 200, headers: {}, body: '{"type":"ADDED"\n' } : listOf("10", []),
  "the page is no list": () => json({ kind: "Status" }),
  "the page is no JSON": () => ({ status: 200, headers: {}, body: "<html>" }),
  "access is forbidden": () => failure(403, "Forbidden"),
};

test.for(Object.entries(storms))("a storm stays slow (FR-108): %s", async ([, script]) => {
  const world = start(script);
  await world.runtime.advance(60_000);
  expect(world.asked.length).toBeLessThanOrEqual(12);
  expect(world.asked.length).toBeGreaterThanOrEqual(4);

  // And is over as soon as the API is well again: the longest pause is 30 s and its jitter.
  world.script = (asked, signal) => (asked.isWatch ? silent(asked, signal) : listOf("99", [object("z", "98")]));
  await world.runtime.advance(76_000);
  expect(world.reflector.problem).toBe("");
  if (!world.asked.at(-1)?.isWatch) throw new Error("not watching");
});

test("a watch that brings one event and closes does not become a loop", async () => {
  let version = 10;
  const world = start((asked, signal) => {
    if (!asked.isWatch) return listOf("10", []);
    const stream = new Stream();
    stream.send("ADDED", object("a", String(++version)));
    stream.end();
    return watchOn(stream, signal);
  });
  await world.runtime.advance(60_000);
  expect(world.asked.length).toBeLessThanOrEqual(110);
});

test("Retry-After is obeyed (FR-108)", async () => {
  const world = start((asked, signal) => {
    if (asked.isWatch) return silent(asked, signal);
    return asked.nth < 3 ? failure(429, "TooManyRequests", { "retry-after": "5" }) : listOf("10", []);
  });
  await world.runtime.advance(60_000);
  const lists = world.asked.filter(({ isWatch }) => !isWatch);
  for (const [index, { at }] of lists.entries()) {
    const before = lists[index - 1];
    if (before) expect(at - before.at).toBeGreaterThanOrEqual(5_000);
  }
  expect(world.reflector.lists).toBe(1);
});

test("an outage of five minutes is survived, and mended without anybody's help (FR-109)", async () => {
  const stream = new Stream();
  const world = start(streams(stream));
  await world.runtime.settle();
  const errors = [() => refused(), () => failure(503), () => failure(500)];
  world.script = ({ nth }) => (errors[nth % errors.length] ?? refused)();
  stream.reset();
  await world.runtime.advance(300_000);
  expect([...world.objects.keys()]).toEqual(["a"]);
  expect(world.reflector.ageMs()).toBeGreaterThanOrEqual(299_000);

  const after = new Stream();
  world.script = (asked, signal) => (asked.isWatch ? watchOn(after, signal) : listOf("99", []));
  await world.runtime.advance(40_000);
  after.send("ADDED", object("b", "60"));
  await world.runtime.settle();
  expect([...world.objects.keys()]).toEqual(["a", "b"]);
  // The version was not lost: no list was needed.
  expect(world.reflector.lists).toBe(1);
});

test("a watch that falls silent is given up and resumed from its version", async () => {
  const [first, second] = [new Stream(), new Stream()];
  const world = start(streams(first, second));
  await world.runtime.settle();
  first.bookmark("50");
  await world.runtime.advance(99_000);
  expect(world.ended).toEqual([]);
  await world.runtime.advance(3_000);
  expect(world.ended).toEqual(["silent"]);
  expect(first.isClosed).toBe(true);
  expect(world.asked.at(-1)?.query.get("resourceVersion")).toBe("50");
});

test("any line breaks the silence", async () => {
  const stream = new Stream();
  const world = start(streams(stream));
  for (let minute = 1; minute <= 10; minute++) {
    await world.runtime.advance(60_000);
    stream.bookmark(String(minute));
  }
  await world.runtime.settle();
  expect(world.ended).toEqual([]);
  expect(world.reflector.ageMs()).toBe(0);
});

test("a server that opens watches and says nothing is not heard of by opening them", async () => {
  const world = start((asked, signal) => (asked.isWatch ? silent(asked, signal) : listOf("10", [])));
  await world.runtime.advance(400_000);
  expect(world.ended.length).toBeGreaterThanOrEqual(3);
  expect(world.reflector.ageMs()).toBeGreaterThanOrEqual(399_000);
});

test("a line that is cut off is not an event, and is sent again", async () => {
  const [first, second] = [new Stream(), new Stream()];
  const world = start(streams(first, second));
  await world.runtime.settle();
  first.write('{"type":"ADDED","object":{"metadata":{"name":"b","resourceVersion":"11"}}');
  first.end();
  await world.runtime.advance(3_000);
  second.send("ADDED", object("b", "11"));
  await world.runtime.settle();
  expect(world.happened).toEqual(["put a@1", "put b@11"]);
  expect(world.asked.at(-1)?.query.get("resourceVersion")).toBe("10");
});

const unreadable: Record<string, string> = {
  "no JSON": "{oops}\n",
  "no object": "7\n",
  "a type nobody knows": '{"type":"RENAMED","object":{"metadata":{"resourceVersion":"12"}}}\n',
  "no version": '{"type":"ADDED","object":{"metadata":{"name":"b"}}}\n',
  "nothing at all": '{"type":"ADDED"}\n',
};

test.for(Object.entries(unreadable))(
  "a line that cannot be read ends the watch, for to skip it would lose an event: %s",
  async ([, line]) => {
    const [first, second] = [new Stream(), new Stream()];
    const world = start(streams(first, second));
    await world.runtime.settle();
    first.send("ADDED", object("b", "11"));
    first.write(line);
    first.send("ADDED", object("c", "13"));
    await world.runtime.advance(3_000);
    expect(world.ended).toEqual(["unreadable"]);
    expect([...world.objects.keys()]).toEqual(["a", "b"]);
    expect(world.asked.at(-1)?.query.get("resourceVersion")).toBe("11");
  },
);

test("a place that can never be read is passed by listing anew", async () => {
  const world = start((asked, signal) => {
    if (!asked.isWatch) return listOf(asked.nth === 0 ? "10" : "20", [object("a", "1")]);
    if (asked.query.get("resourceVersion") === "20") return silent(asked, signal);
    return { status: 200, headers: {}, body: "{poison}\n" };
  });
  await world.runtime.advance(20_000);
  expect(world.ended).toEqual(["unreadable", "unreadable", "unreadable"]);
  expect(world.reflector.lists).toBe(2);
  expect(world.asked.at(-1)?.query.get("resourceVersion")).toBe("20");
});

test("a line without end is given up", async () => {
  const stream = new Stream();
  const world = start(streams(stream));
  await world.runtime.settle();
  for (let megabyte = 0; megabyte < 20; megabyte++) stream.write(Buffer.alloc(1 << 20, "x"));
  await world.runtime.settle();
  expect(world.ended).toEqual(["unreadable"]);
});

test("an answer that never comes is given up", async () => {
  const world = start((asked, signal) => {
    if (asked.isWatch) return silent(asked, signal);
    if (asked.nth > 0) return listOf("10", []);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
  });
  await world.runtime.advance(29_000);
  expect(world.asked).toHaveLength(1);
  await world.runtime.advance(3_000);
  expect(world.reflector.lists).toBe(1);
});

test("a fault of our own does not end it", async () => {
  let isBroken = true;
  const mirror = {
    put: () => {
      if (isBroken) throw new Error("a bug");
      return undefined;
    },
    remove: () => undefined,
    keys: () => [],
  };
  const world = start((asked, signal) => (asked.isWatch ? silent(asked, signal) : listOf("10", [object("a", "1")])), {
    mirror,
  });
  await world.runtime.settle();
  expect(world.reflector.problem).toContain("a bug");
  isBroken = false;
  await world.runtime.advance(3_000);
  expect(world.reflector.lists).toBe(1);
});

test("whoever doubts what we have can have it listed anew", async () => {
  const world = start((asked, signal) =>
    asked.isWatch
      ? silent(asked, signal)
      : listOf(asked.nth === 0 ? "10" : "20", [object(asked.nth === 0 ? "a" : "b", "1")]),
  );
  await world.runtime.settle();
  world.reflector.relist();
  await world.runtime.settle();
  expect([...world.objects.keys()]).toEqual(["b"]);
  expect(world.ended).toEqual(["relist"]);
});

const initialEnd = { "k8s.io/initial-events-end": "true" };

test("a streamed list begins with all objects and goes on as a watch", async () => {
  const stream = new Stream();
  const world = start(({ isWatch }, signal) => (isWatch ? watchOn(stream, signal) : refused()), { streams: true });
  await world.runtime.settle();
  expect(world.asked[0]?.query.get("sendInitialEvents")).toBe("true");
  expect(world.asked[0]?.query.get("resourceVersionMatch")).toBe("NotOlderThan");
  stream.send("ADDED", object("a", "1"));
  await world.runtime.settle();
  expect(world.reflector.lists).toBe(0);
  stream.bookmark("10", initialEnd);
  stream.send("ADDED", object("b", "11"));
  await world.runtime.settle();
  expect(world.reflector.lists).toBe(1);
  expect([...world.objects.keys()]).toEqual(["a", "b"]);
  expect(world.asked).toHaveLength(1);
});

test("a streamed list sweeps what it did not show", async () => {
  const [first, second] = [new Stream(), new Stream()];
  const world = start(({ nth }, signal) => watchOn(nth === 0 ? first : second, signal), { streams: true });
  await world.runtime.settle();
  for (const name of ["a", "b"]) first.send("ADDED", object(name, "1"));
  first.bookmark("10", initialEnd);
  first.send("ERROR", { code: 410 });
  await world.runtime.advance(3_000);
  second.send("ADDED", object("b", "1"));
  second.bookmark("20", initialEnd);
  await world.runtime.settle();
  expect([...world.objects.keys()]).toEqual(["b"]);
});

const streamless: Record<string, Script> = {
  "refuses them": () => failure(422, "Invalid"),
  "forbids them": () => failure(403, "Forbidden"),
  "breaks on them": () => failure(500, "InternalError"),
  "never comes to their end": (_, signal) => {
    const stream = new Stream();
    stream.send("ADDED", object("a", "1"));
    stream.end();
    return watchOn(stream, signal);
  },
  "says among them that it cannot": (_, signal) => {
    const stream = new Stream();
    stream.send("ADDED", object("a", "1"));
    stream.send("ERROR", { code: 410 });
    return watchOn(stream, signal);
  },
  "takes no notice that they were asked for": (_, signal) => {
    const stream = new Stream();
    stream.send("ADDED", object("a", "1"));
    stream.bookmark("10");
    return watchOn(stream, signal);
  },
};

/** A server that answers so when initial events are asked for, and has one object in pages. */
function askedForStreams(answer: Script): ReturnType<typeof start> {
  const script: Script = (asked, signal) => {
    if (!asked.isWatch) return listOf("10", [object("a", "1")]);
    return asked.query.has("sendInitialEvents") ? answer(asked, signal) : silent(asked, signal);
  };
  return start(script, { streams: true });
}

test.for(Object.entries(streamless))("pages stand in for initial events where the server %s", async ([, answer]) => {
  const world = askedForStreams(answer);
  await world.runtime.advance(5_000);
  expect(world.reflector.lists).toBe(1);
  expect([...world.objects.keys()]).toEqual(["a"]);
});

/** Lists anew a minute after the first list, and says how each was asked for. */
async function twoLists(answer: Script): Promise<{ forms: string[]; firstAt: number | undefined }> {
  const world = askedForStreams(answer);
  await world.runtime.advance(60_000);
  world.reflector.relist();
  await world.runtime.advance(5_000);
  const initial = world.asked.filter(({ isWatch, query }) => !isWatch || query.has("sendInitialEvents"));
  return {
    forms: initial.map(({ isWatch }) => (isWatch ? "stream" : "pages")),
    firstAt: initial.find(({ isWatch }) => !isWatch)?.at,
  };
}

test("a server that refuses initial events is asked for pages at once, and for no stream again", async () => {
  const { forms, firstAt } = await twoLists(() => failure(422, "Invalid"));
  expect(forms).toEqual(["stream", "pages", "pages"]);
  expect(firstAt).toBe(0);
});

test("after a stream that broke off, the next list comes in pages, and the one after it is streamed again", async () => {
  let streams = 0;
  const { forms, firstAt } = await twoLists((_, signal) => {
    const stream = new Stream();
    stream.send("ADDED", object("a", "1"));
    if (streams++ === 0) stream.reset();
    else stream.bookmark("20", initialEnd);
    return watchOn(stream, signal);
  });
  expect(forms).toEqual(["stream", "pages", "stream"]);
  expect(firstAt).toBeGreaterThan(500);
});

test("a large list lets others run between its slices", async () => {
  const items = Array.from({ length: 5_000 }, (_, index) => object(`v${index}`, "1"));
  const world = start((asked, signal) => (asked.isWatch ? silent(asked, signal) : listOf("10", items)));
  const seen: number[] = [];
  for (let turn = 0; turn < 100; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(world.objects.size);
  }
  const steps = seen.map((size, index) => size - (seen[index - 1] ?? 0));
  expect(Math.max(...steps)).toBeLessThanOrEqual(600);
  expect(world.objects.size).toBe(5_000);
});
