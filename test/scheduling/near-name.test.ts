/** Which name was probably meant: the nearest, and none where all are far. */
import { expect, test } from "vitest";
import { nearestName } from "../../src/scheduling/near-name.ts";

const rows: Record<string, { wrong: string; known: readonly string[]; meant: string | undefined }> = {
  "nothing is known": { wrong: "local", known: [], meant: undefined },
  "one letter is another": { wrong: "lokal", known: ["remote", "local"], meant: "local" },
  "two letters changed places": { wrong: "lcoal", known: ["local"], meant: "local" },
  "a letter is missing": { wrong: "loal", known: ["local"], meant: "local" },
  "a letter is too many": { wrong: "loccal", known: ["local"], meant: "local" },
  "capitals are small ones": { wrong: "LOCAL", known: ["local"], meant: "local" },
  "of two that are near, the nearest": { wrong: "disk-b1", known: ["disk-a22", "disk-b2"], meant: "disk-b2" },
  "of two that are as near, the one that is named first": { wrong: "disk", known: ["disk2", "disk1"], meant: "disk2" },
  "two letters before a short name": { wrong: "fast", known: ["a-fast"], meant: "a-fast" },
  "three letters before a short name are too many": { wrong: "fast", known: ["my-fast"], meant: undefined },
  "three letters after a short name are too many": { wrong: "fast", known: ["fast-hd"], meant: undefined },
  "three letters more than one are too many": { wrong: "z", known: ["abcd", "zabc"], meant: undefined },
  "three letters less are too many": { wrong: "my-fast", known: ["fast"], meant: undefined },
  "of a long name a third may differ": { wrong: "local-xxx", known: ["local-ssd"], meant: "local-ssd" },
  "of a long name more than a third may not": { wrong: "loca--xxx", known: ["local-ssd"], meant: undefined },
};

test.for(Object.entries(rows))("%s", ([, { wrong, known, meant }]) => {
  expect(nearestName(wrong, known)).toBe(meant);
});
