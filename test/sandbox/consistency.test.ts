/** What a reflector relies on, under random writes: list + watch is the truth, pages show one moment, selectors agree. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { configMaps, type Event, makeApi, type TestApi } from "./api-client.ts";

type Write = { readonly kind: "set" | "delete" | "relabel"; readonly name: string; readonly value: number };

const names = ["a", "ab", "b", "constructor", "z-1", "z-10", "z-2"];
const write: fc.Arbitrary<Write> = fc.record({
  kind: fc.constantFrom("set", "set", "relabel", "delete"),
  name: fc.constantFrom(...names),
  value: fc.integer({ min: 0, max: 3 }),
});

async function perform({ call, post, patch }: TestApi, { kind, name, value }: Write): Promise<void> {
  const path = `${configMaps}/${name}`;
  if (kind === "delete") await call("DELETE", path);
  else if (kind === "relabel") await patch(path, "merge-patch+json", { metadata: { labels: { v: String(value) } } });
  else {
    const body = { metadata: { name, labels: { v: String(value) } }, data: { value: String(value) } };
    const { status } = await post(configMaps, body);
    if (status === 409) await call("PUT", path, body);
  }
}

type Objects = Map<string, string>;
const versionsOf = (items: { metadata: { name: string; resourceVersion: string } }[]): Objects =>
  new Map(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));

/** A reflector's store: what it must hold after these events. Throws on an event that does not fit what it holds. */
function follow(start: Objects, events: readonly Event[]): Objects {
  const held = new Map(start);
  let last = 0;
  for (const { type, object } of events) {
    const { name, resourceVersion } = object.metadata;
    expect(held.has(name), `${type} ${name}`).toBe(type !== "ADDED");
    expect(Number(resourceVersion)).toBeGreaterThan(last);
    last = Number(resourceVersion);
    if (type === "DELETED") held.delete(name);
    else held.set(name, resourceVersion);
  }
  return held;
}

const sorted = (objects: Objects): [string, string][] => [...objects].sort(([a], [b]) => (a < b ? -1 : 1));

test.for(["", "&labelSelector=v%3D1", "&labelSelector=v%20notin%20(1,2)", "&fieldSelector=metadata.name%3Dab"])(
  "a list and the watch from its version lead to what a later list shows (selector '%s')",
  async (selector) => {
    const property = fc.asyncProperty(
      fc.array(write, { maxLength: 12 }),
      fc.array(write, { maxLength: 25 }),
      async (before, after) => {
        const api = makeApi();
        for (const one of before) await perform(api, one);
        const { body: list } = await api.get(`${configMaps}?${selector.slice(1)}`);
        const live = await api.watch(
          `${configMaps}?watch=true&resourceVersion=${list.metadata.resourceVersion}${selector}`,
        );
        for (const one of after) await perform(api, one);
        const late = await api.watch(
          `${configMaps}?watch=true&resourceVersion=${list.metadata.resourceVersion}${selector}`,
        );
        const { body: now } = await api.get(`${configMaps}?${selector.slice(1)}`);

        const events = await live.take();
        expect(await late.take()).toEqual(events);
        expect(sorted(follow(versionsOf(list.items), events))).toEqual(sorted(versionsOf(now.items)));
        live.abort();
        late.abort();
      },
    );
    await fc.assert(property, { numRuns: 60, seed: 7 });
  },
);

test("pages under writes are the list of the first page's moment", async () => {
  const property = fc.asyncProperty(
    fc.array(write, { minLength: 8, maxLength: 30 }),
    fc.array(fc.array(write, { maxLength: 4 }), { maxLength: 8 }),
    fc.integer({ min: 1, max: 3 }),
    async (before, between, limit) => {
      const api = makeApi();
      for (const one of before) await perform(api, one);
      const { body: whole } = await api.get(configMaps);
      const items: unknown[] = [];
      let token = "";
      for (let page = 0; page === 0 || token !== ""; page++) {
        const { body } = await api.get(`${configMaps}?limit=${limit}&continue=${token}`);
        items.push(...body.items);
        token = body.metadata.continue ?? "";
        expect(body.metadata.remainingItemCount ?? 0).toBe(whole.items.length - items.length);
        for (const one of between[page] ?? []) await perform(api, one);
      }
      expect(items).toEqual(whole.items);
    },
  );
  await fc.assert(property, { numRuns: 100, seed: 7 });
});

test("every version that is remembered can be listed again", async () => {
  const property = fc.asyncProperty(fc.array(write, { minLength: 5, maxLength: 25 }), async (writes) => {
    const api = makeApi();
    const seen: { version: string; items: unknown }[] = [];
    for (const one of writes) {
      await perform(api, one);
      const { body } = await api.get(configMaps);
      seen.push({ version: body.metadata.resourceVersion, items: body.items });
    }
    for (const { version, items } of seen) {
      const { body } = await api.get(`${configMaps}?resourceVersion=${version}&resourceVersionMatch=Exact`);
      expect(body.items).toEqual(items);
    }
  });
  await fc.assert(property, { numRuns: 50, seed: 7 });
});
