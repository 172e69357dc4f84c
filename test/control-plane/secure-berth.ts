/** A Berth that speaks TLS on both listeners, as in the control plane, and what kube-scheduler is configured with to ask it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Transport } from "../../src/kube/transport.ts";
import { nodeRuntime as runtime } from "../../src/runtime/node-runtime.ts";
import { Authority, type Pair, writePair } from "../support/certificates.ts";
import type { Raw } from "../support/make.ts";
import { configurationOf } from "../support/scenario.ts";
import { berthCommand } from "./control-plane.ts";
import { berthEntries } from "./kube-scheduler.ts";
import type { Lab } from "./lab.ts";
import { freePorts } from "./processes.ts";
import { get, until } from "./reach.ts";

export interface SecureBerth {
  readonly authority: Authority;
  /** kube-scheduler's entries, as whoever has this certificate; without one it shows none. */
  entriesOf(who: string, pair?: Pair): readonly Raw[];
  /** Of its debug listener. */
  page(path: string, token?: string): Promise<{ status: number; text: string }>;
}

/** Lets in `system:kube-scheduler`, and tokens of the control plane. Resolves when it is ready. */
export async function startSecureBerth(lab: Lab, name: string): Promise<SecureBerth> {
  const folder = join(lab.facts.folder, name);
  mkdirSync(folder, { recursive: true });
  const authority = await Authority.make();
  const { clientCAFile, ...files } = writePair(folder, await authority.issue({ name: "berth" }), authority.cert);
  const config = join(folder, "berth.yaml");
  const tls = { ...files, clientCAFile, allowedNames: ["system:kube-scheduler"] };
  writeFileSync(config, configurationOf({ tls, debugTls: files, leaderElection: { resourceName: name } }));
  const [extender = 0, debug = 0] = await freePorts(2);
  lab.processes.start(name, [...berthCommand(lab.facts.kubeconfig, extender, debug), "--config", config]);
  const reach = (credentials: ConstructorParameters<typeof Transport>[0]["connection"]["credentials"]): Transport =>
    new Transport({ runtime, connection: { server: `https://127.0.0.1:${debug}`, ca: authority.cert, credentials } });
  const page: SecureBerth["page"] = async (path, token) => {
    const transport = reach(token === undefined ? { kind: "none" } : { kind: "token", token });
    try {
      return await get(transport.exchange, path);
    } finally {
      transport.close();
    }
  };
  await until(`${name} is ready`, async () => (await page("/readyz")).status === 200);
  return {
    authority,
    entriesOf: (who, pair) => {
      const own = join(folder, who);
      mkdirSync(own, { recursive: true });
      const url = `https://127.0.0.1:${extender}/v1`;
      const certificates = pair && writePair(own, pair, authority.cert);
      const { asks, binds } = berthEntries(
        url,
        certificates && { certFile: certificates.certFile, keyFile: certificates.keyFile, caFile: clientCAFile },
      );
      if (pair) return [asks, binds];
      return [asks, binds].map((entry) => ({ ...entry, enableHTTPS: true, tlsConfig: { caFile: clientCAFile } }));
    },
    page,
  };
}
