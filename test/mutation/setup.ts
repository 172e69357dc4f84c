/** A mutant dies or lives by its own doing: random inputs are the same in each run, and the first failure is enough. */
import fc from "fast-check";

fc.configureGlobal({ seed: 1, endOnFailure: true });
