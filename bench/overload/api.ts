/**
 * The cluster that Berth is asked about, as a process: nodes with a disk each, and Pods with and without a claim.
 *
 *     node api.ts NODES PODS
 *
 * Prints its port when all is there, and ends with its input.
 */
import { listen } from "../../src/http/listener.ts";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import { objectsOf } from "../../test/support/given.ts";
import { claimOf, diskOf, namespace, nodeNamed, phases, podNamed, storageClass } from "./names.ts";

const [nodes = 0, pods = 0] = process.argv.slice(2).map(Number);
const sandbox = new Sandbox({ runtime, scheduler: false });
const listener = await listen({ handler: sandbox.api.exchange, host: "127.0.0.1", port: 0, bodyLimitBytes: 4 << 20 });

const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
const nodeNames = numbers(nodes).map(nodeNamed);
const binds = phases.flatMap((phase) => numbers(pods).map((at) => ({ phase, at })));
const claim = { class: storageClass, size: "1Gi" };
await sandbox.apply(
  objectsOf({
    classes: { [storageClass]: "wait" },
    nodes: Object.fromEntries(nodeNames.map((name) => [name, null])),
    volumes: Object.fromEntries(
      nodeNames.map((name) => [diskOf(name), { class: storageClass, size: "10Gi", on: name }]),
    ),
    claims: Object.fromEntries(
      [...binds.map(({ phase, at }) => podNamed(phase, at)), "asks"].map((pod) => [
        `${namespace}/${claimOf(pod)}`,
        claim,
      ]),
    ),
    pods: Object.fromEntries(
      binds.flatMap(({ phase, at }) => {
        const name = podNamed(phase, at);
        return [
          [`${namespace}/${name}`, { claims: [claimOf(name)] }],
          [`${namespace}/${name}-free`, {}],
        ];
      }),
    ),
  }),
);
process.stdout.write(`${listener.port}\n`);
process.stdin.on("end", () => process.exit()).resume();
