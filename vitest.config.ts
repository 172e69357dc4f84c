import { defineConfig } from "vitest/config";

const shared = { setupFiles: ["test/support/setup.ts"], pool: "forks" } as const;

export default defineConfig({
  test: {
    reporters: ["default", "./test/support/tally.ts"],
    projects: [
      {
        test: {
          ...shared,
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/control-plane/**"],
          testTimeout: 20_000,
          hookTimeout: 20_000,
          // On a machine that others use too, a second is no sign that something will not come.
          expect: { poll: { timeout: 15_000 } },
        },
      },
      {
        // Against the real control plane: one for all, so one test at a time, and after the others.
        test: {
          ...shared,
          name: "cluster",
          include: ["test/control-plane/**/*.test.ts"],
          globalSetup: ["test/control-plane/set-up.ts"],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          // Seven processes on a machine that others use too. What needed it is named at the end of the run.
          retry: 1,
          testTimeout: 90_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
