/** One worker, one file of tests, and a runner that keeps them loaded. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/mutation/tests.ts"],
    setupFiles: ["test/mutation/setup.ts"],
    runner: "test/mutation/serve.ts",
    pool: "threads",
    maxWorkers: 1,
    testTimeout: 0,
    // How long something takes says nothing where every expression has a switch.
    testNamePattern: /^(?!.*\bsoon\b)/,
    reporters: [{}],
    // Fewer random inputs than `npm test`: each mutant meets them.
    env: { RANDOM_SHARE: "0.15" },
  },
});
