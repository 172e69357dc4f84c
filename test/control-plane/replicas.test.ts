/** Two Berths behind one address, of which one answers (docs/high-availability.md, FR-064): whatever becomes of it, the other does soon. */
import { expect } from "vitest";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import { audit } from "../support/auditor.ts";
import { startBalancer } from "./balancer.ts";
import { burstOf, waitingPods } from "./burst.ts";
import { berthEntries } from "./kube-scheduler.ts";
import { inLab, type Lab } from "./lab.ts";
import { onPlane } from "./on-plane.ts";
import { until } from "./reach.ts";
import { makeReplica, type Replica, untilLeads } from "./replica.ts";
import { type SlowLink, startSlowLink } from "./slow-link.ts";

const nodes = ["n1", "n2"];
/** Decision 22. */
const answersWithinSeconds = 15;

interface Linked extends Replica {
  /** Its way to kube-apiserver. */
  readonly link: SlowLink;
}

interface Ending {
  readonly how: string;
  /** Done to the one that leads. */
  begin(leader: Linked): Promise<void> | void;
  /** Makes a follower of it. */
  mend?(leader: Linked): void;
}

const endings: readonly Ending[] = [
  { how: "killed", begin: (leader) => leader.end(), mend: (leader) => leader.start() },
  { how: "still", begin: (leader) => leader.signal("SIGSTOP"), mend: (leader) => leader.signal("SIGCONT") },
  // The connections of kube-scheduler stay.
  { how: "cut-off", begin: ({ link }) => link.close() },
];

onPlane(
  "the leader of two Berths behind one address is killed, stands still, loses the API: the other answers within 15 s",
  { timeout: 240_000 },
  (plane) =>
    inLab(plane, "replicas", (lab) =>
      withLinks(lab, async (links) => {
        const config = { leaderElection: { mode: "answers", resourceName: "replicas" } };
        const make = async (link: SlowLink, index: number): Promise<Linked> => {
          const replica = await makeReplica(lab, { name: `replica-${index}`, config, server: link.server });
          return { ...replica, link };
        };
        const [first, second] = await Promise.all(links.map(make));
        if (!first || !second) throw new Error("unreachable");
        first.start();
        await until("the first Berth leads", async () => (await first.readiness()) === "ok\n");
        second.start();
        await untilLeads(first, [second]);

        const balancer = await startBalancer([first, second]);
        try {
          const { asks, binds } = berthEntries(`http://127.0.0.1:${balancer.port}/v1`);
          await lab.scheduler([asks, binds]);
          await lab.given({ nodes: Object.fromEntries(nodes.map((node) => [node, null])) });
          let [leader, follower] = [first, second];
          for (const ending of endings) {
            await inTheMiddle(lab, ending, leader, follower);
            [leader, follower] = [follower, leader];
          }
        } finally {
          balancer.close();
        }
      }),
    ),
);

async function withLinks(lab: Lab, run: (links: readonly SlowLink[]) => Promise<void>): Promise<void> {
  const links = [await startSlowLink(lab.facts.server, 0), await startSlowLink(lab.facts.server, 0)];
  try {
    await run(links);
  } finally {
    for (const link of links) link.close();
  }
}

/** Of a burst of Pods. */
async function inTheMiddle(lab: Lab, { how, begin, mend }: Ending, leader: Linked, follower: Linked): Promise<void> {
  const burst = burstOf(how, nodes, 12);
  await lab.given(burst.storage);
  const arriving = lab.given(burst.pods);
  await until("some of the Pods are there", async () => (await waitingPods(lab.stage, how)).length > 0);
  await begin(leader);
  const seconds = await secondsUntilAnswer(lab, `after-${how}`);
  expect(seconds, how).toBeLessThan(answersWithinSeconds);
  await arriving;
  mend?.(leader);
  if (mend) await untilLeads(follower, [leader]);
  for (const namespace of [how, `after-${how}`]) {
    await until("all Pods are placed", async () => (await waitingPods(lab.stage, namespace)).length === 0);
  }
  expect(await audit(lab.stage), how).toEqual([]);
}

/**
 * Until a Pod with claims is on a node, of those that come from now on, one each second: kube-scheduler asks about a new one at once,
 * and about one that failed after up to ten seconds.
 */
async function secondsUntilAnswer(lab: Lab, name: string): Promise<number> {
  const pods = 20;
  const { storage, pods: given } = burstOf(name, nodes, pods);
  await lab.given(storage);
  const begun = runtime.now();
  const elapsed = (): number => (runtime.now() - begun) / 1000;
  let made = 0;
  for (const [key, pod] of Object.entries(given.pods ?? {})) {
    await lab.given({ pods: { [key]: pod } });
    made++;
    while (elapsed() < made) {
      if ((await waitingPods(lab.stage, name)).length < made) return elapsed();
      await runtime.sleep(100);
    }
  }
  return elapsed();
}
