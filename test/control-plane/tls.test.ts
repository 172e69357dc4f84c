/** kube-scheduler and Berth over TLS with client certificates, and Berth's debug listener asking the API server who looks. */
import { expect } from "vitest";
import { Authority } from "../support/certificates.ts";
import { inLab } from "./lab.ts";
import { onPlane } from "./on-plane.ts";
import { adminToken, schedulerToken } from "./reach.ts";
import { startSecureBerth } from "./secure-berth.ts";

onPlane("over TLS Berth serves kube-scheduler's certificate, and no other", {}, (plane) =>
  inLab(plane, "tls", async (lab) => {
    const berth = await startSecureBerth(lab, "tls-berth");
    const { authority, entriesOf } = berth;
    await lab.given({
      nodes: { n1: null, n2: null },
      classes: { local: "wait" },
      volumes: { d1: { on: "n2", class: "local", size: "10Gi" } },
    });
    const scheduler = await authority.issue({ name: "system:kube-scheduler", usage: "client" });
    await lab.scheduler(entriesOf("scheduler", scheduler));
    await lab.given({
      claims: { "shop/cart": { class: "local", size: "10Gi" } },
      pods: { "shop/web": { claims: ["cart"] } },
    });
    expect(await lab.placed("shop/web")).toBe("n2");
    expect(await lab.claims()).toEqual({ "shop/cart": "d1" });

    const foreign = await Authority.make("foreign");
    const others = {
      nobody: { code: 401, cause: "noCertificate" },
      stranger: {
        code: 401,
        cause: "certificateUntrusted",
        pair: await foreign.issue({ name: "system:kube-scheduler" }),
      },
      kubelet: { code: 403, cause: "nameNotAllowed", pair: await authority.issue({ name: "system:node:n1" }) },
    };
    await Promise.all(
      Object.entries(others).map(async ([who, other]) => {
        const entries = entriesOf(who, "pair" in other ? other.pair : undefined);
        await lab.scheduler(entries, { schedulerName: `tls-${who}` });
        await lab.given({ pods: { [`shop/of-${who}`]: {} } }, `tls-${who}`);
        const message = `failed filter with extender at URL ${String(entries[0]?.["urlPrefix"])}/filter, code ${other.code}`;
        expect(await lab.outcome(`shop/of-${who}`)).toEqual({ reason: "SchedulerError", message });
      }),
    );
    const { text } = await berth.page("/metrics", adminToken);
    for (const { cause } of Object.values(others)) {
      expect(text).toMatch(new RegExp(`berth_callers_refused_total\\{listener="extender",cause="${cause}"\\} [1-9]`));
    }
    // A token that the API server knows, of a user who may not read the path, and one that it does not know.
    const asked = [
      berth.page("/metrics"),
      berth.page("/metrics", schedulerToken),
      berth.page("/debug/state", "made-up"),
    ];
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([401, 403, 401]);
  }),
);
