/** VB §8.14, as far as it is about bytes. @see kube-scheduler extender/v1/types_test.go, scheduler/extender_test.go */
import { describe, expect } from "vitest";
import { decodeBindingArgs, decodePreemptionArgs } from "../../src/apis/extender.ts";
import { encodeBindingResult, encodeHostPriorities, encodePreemptionResult } from "../../src/apis/extender-replies.ts";
import { nodeName } from "../../src/scheduling/names.ts";
import { scenario } from "./support.ts";

describe("VB 8.14: the wire", () => {
  scenario(161, "core", "victims keep their uids and the number of violations, whole or by uid, there and back", () => {
    const pod = (uid: string) => ({ metadata: { name: `name-${uid}`, uid } });
    const whole = { n1: { Pods: [pod("u1"), pod("u2")], NumPDBViolations: 1 }, n2: { Pods: [pod("u3")] } };
    const byUid = {
      n1: { Pods: [{ UID: "u1" }, { UID: "u2" }], NumPDBViolations: 1 },
      n2: { Pods: [{ UID: "u3" }], NumPDBViolations: 0 },
    };
    const replies = [{ NodeNameToVictims: whole }, { NodeNameToMetaVictims: byUid }].map((request) => {
      const decoded = decodePreemptionArgs(JSON.stringify(request));
      if (!decoded.ok) throw new Error(decoded.problem);
      return JSON.parse(encodePreemptionResult(decoded.value.candidates ?? []));
    });
    expect(replies).toEqual([{ NodeNameToMetaVictims: byUid }, { NodeNameToMetaVictims: byUid }]);
  });
  scenario(163, "core", "golden strings, and keys in lower case", () => {
    const victims = '{"NodeNameToMetaVictims":{"foo":{"Pods":[{"UID":"myuid"}],"NumPDBViolations":1}}}';
    for (const text of [victims, victims.toLowerCase()]) {
      const decoded = decodePreemptionArgs(text);
      expect(decoded.ok && encodePreemptionResult(decoded.value.candidates ?? [])).toBe(victims);
    }
    const bind = { PodName: "mypodname", PodNamespace: "mypodnamespace", PodUID: "mypoduid", Node: "mynode" };
    const golden = '{"PodName":"mypodname","PodNamespace":"mypodnamespace","PodUID":"mypoduid","Node":"mynode"}';
    for (const text of [golden, golden.toLowerCase()])
      expect(decodeBindingArgs(text)).toEqual({ ok: true, value: bind });
    expect(encodeBindingResult("myerror")).toBe('{"Error":"myerror"}');
    expect(encodeHostPriorities([{ Host: nodeName("myhost"), Score: 1 }])).toBe('[{"Host":"myhost","Score":1}]');
  });
});
