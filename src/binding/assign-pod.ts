/**
 * The Binding: the one write that places the Pod. Carries the uid, so that no Pod re-created under the name is ever placed.
 *
 * @see VB §4.2; kubernetes pkg/registry/core/pod/storage/storage.go, BindingREST
 */
import { awaitBound, findPod } from "./await-bound.ts";
import { type BindRun, isTransient } from "./bind-run.ts";
import { BindEnd } from "./endings.ts";

/** Ends with the Pod on its node. Every try looks again whether the claims still stand as planned. @throws BindEnd */
export async function assignPod(run: BindRun): Promise<void> {
  const { runtime, observer } = run.world;
  const { namespace, name, uid, node } = run.subject;
  const begun = runtime.now();
  for (let tries = 0; ; tries++) {
    run.phase = "waiting";
    if ((await awaitBound(run)) === "assigned") return;
    if (tries === 0 && !run.isFree) observer?.waited?.(runtime.now() - begun);

    run.phase = "binding";
    run.beginWrite();
    const outcome = await run.write("binding", () => run.world.writer.bindPod({ namespace, name, uid, node }));
    if (outcome.ok) return;
    const isConflict = outcome.status === 409 || outcome.status === 404;
    if (!isConflict && !isTransient(outcome)) {
      const status = outcome.status === undefined ? "" : ` (${outcome.status})`;
      throw new BindEnd("writeFailed", `the API refused to bind the pod: ${outcome.message}${status}`);
    }
    // Throttled was not looked at; everything else may have taken effect, or says that the Pod is not what it was (FR-056).
    if (outcome.status !== 429 && (await findPod(run)) === "assigned") return;
    run.waitingFor = () => `the API did not accept the binding of the pod: ${outcome.message}`;
    await run.pause(tries, outcome);
  }
}
