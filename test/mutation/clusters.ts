/** The same few random clusters each time, beside the naive oracle. */
import { expect, test } from "vitest";
import { run } from "../oracle/compare.ts";
import { generate } from "../oracle/generate.ts";

const clusters = 100;
const together = 5;

const firsts = Array.from({ length: clusters / together }, (_, index) => 1 + index * together);

test.for(firsts)("core and oracle agree on the clusters from seed %d", (first) => {
  for (let seed = first; seed < first + together; seed++) expect(run(generate(seed)).difference).toBeUndefined();
});
