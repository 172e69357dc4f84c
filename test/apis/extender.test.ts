import { expect, test } from "vitest";
import {
  decodeBindingArgs,
  decodeExtenderArgs,
  decodePod,
  decodePreemptionArgs,
  type ExtenderArgs,
} from "../../src/apis/extender.ts";
import {
  encodeBindingResult,
  encodeFilterError,
  encodeFilterResult,
  encodeHostPriorities,
  encodePreemptionResult,
} from "../../src/apis/extender-replies.ts";
import { nodeName } from "../../src/scheduling/names.ts";

const body = (text: string): Buffer => Buffer.from(text);

function args(text: string): ExtenderArgs {
  const decoded = decodeExtenderArgs(body(text));
  if (!decoded.ok) throw new Error(decoded.problem);
  return decoded.value;
}

// VB 163, kube-scheduler extender/v1/types_test.go.
test("the golden strings of kube-scheduler decode, in its case and in lower case", () => {
  const bind = '{"PodName":"mypodname","PodNamespace":"mypodnamespace","PodUID":"mypoduid","Node":"mynode"}';
  const wantBind = { PodName: "mypodname", PodNamespace: "mypodnamespace", PodUID: "mypoduid", Node: "mynode" };
  for (const text of [bind, bind.toLowerCase()]) {
    expect(decodeBindingArgs(body(text))).toEqual({ ok: true, value: wantBind });
  }
  const meta = '{"NodeNameToMetaVictims":{"foo":{"Pods":[{"UID":"myuid"}],"NumPDBViolations":1}}}';
  for (const text of [meta, meta.toLowerCase()]) {
    expect(decodePreemptionArgs(body(text))).toEqual({
      ok: true,
      value: { candidates: new Map([["foo", { Pods: [{ UID: "myuid" }], NumPDBViolations: 1 }]]) },
    });
  }
});

test("the golden strings of kube-scheduler are what we encode", () => {
  const victims = { Pods: [{ UID: "myuid" }], NumPDBViolations: 1 };
  expect(encodePreemptionResult([[nodeName("foo"), victims]])).toBe(
    '{"NodeNameToMetaVictims":{"foo":{"Pods":[{"UID":"myuid"}],"NumPDBViolations":1}}}',
  );
  expect(encodeBindingResult("myerror")).toBe('{"Error":"myerror"}');
  expect(encodeHostPriorities([{ Host: nodeName("myhost"), Score: 1 }])).toBe('[{"Host":"myhost","Score":1}]');
  expect(encodeHostPriorities([])).toBe("[]");
  expect(encodePreemptionResult([])).toBe('{"NodeNameToMetaVictims":{}}');
});

// VB 161.
test("whole victims become their UIDs, with the number of violations kept", () => {
  const text = `{"Pod":{"kind":"Pod"},"NodeNameToMetaVictims":null,"NodeNameToVictims":{
    "n1":{"Pods":[{"metadata":{"name":"a","uid":"ua"}},{"metadata":{"uid":"ub"}}],"NumPDBViolations":2},"n2":null}}`;
  expect(decodePreemptionArgs(body(text))).toEqual({
    ok: true,
    value: {
      pod: { kind: "Pod" },
      candidates: new Map([
        ["n1", { Pods: [{ UID: "ua" }, { UID: "ub" }], NumPDBViolations: 2 }],
        ["n2", { Pods: [], NumPDBViolations: 0 }],
      ]),
    },
  });
});

test("null and absent are the same, unknown fields are ignored, and names come in their order", () => {
  expect(args('{"Pod":null,"Nodes":null,"NodeNames":null}')).toEqual({});
  expect(args("{}")).toEqual({});
  expect(args('{"Pod":{"a":1},"Extra":[{}],"NODENAMES":["c","a","c","b","a"]}')).toEqual({
    pod: { a: 1 },
    nodes: { form: "NodeNames", names: ["c", "a", "c", "b", "a"] },
  });
  expect(args('{"NodeNames":[]}').nodes).toEqual({ form: "NodeNames", names: [] });
  expect(args('{"Nodes":{"items":null}}').nodes).toEqual({ form: "Nodes", names: [], objects: [] });
});

test("whole nodes pass through byte for byte", () => {
  const one = String.raw`{ "metadata": {"name":"n1","annotations":{"a\"]}":"\\"}}, "big": 12345678901234567890123, "e":[[],{}] }`;
  const two = '{"metadata":{"name":"n2","labels":{"é":"\\u00e9"}}}';
  const text = `{"Pod":{"metadata":{"name":"p"}},"nodes" : {"metadata":{},"ITEMS":[ ${one} ,\n${two},${two}] },"NodeNames":null}`;
  const { nodes } = args(text);
  expect(nodes?.names).toEqual(["n1", "n2"]);
  if (nodes?.form !== "Nodes") throw new Error("the other form");
  expect(nodes.objects.map(String)).toEqual([one, two]);
  expect(String(encodeFilterResult(nodes, () => ""))).toBe(
    `{"Nodes":{"metadata":{},"items":[${one},${two}]},"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}`,
  );
  expect(String(encodeFilterResult(nodes, (index) => (index === 0 ? "no" : "")))).toBe(
    `{"Nodes":{"metadata":{},"items":[${two}]},"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{"n1":"no"},"Error":""}`,
  );
});

test("of a key given twice the last counts, for the names and for the bytes", () => {
  const { nodes } = args(
    '{"Nodes":{"items":[{"metadata":{"name":"a"}}]},"Nodes":{"items":[1],"items":[{"metadata":{"name":"b"}}]}}',
  );
  if (nodes?.form !== "Nodes") throw new Error("the other form");
  expect([nodes.names, nodes.objects.map(String)]).toEqual([["b"], ['{"metadata":{"name":"b"}}']]);
});

test("a node may have any name", () => {
  const names = ["constructor", "__proto__", "toString", 'a"b', "10", "9"];
  const { nodes } = args(JSON.stringify({ NodeNames: names }));
  if (!nodes) throw new Error("no nodes");
  expect(nodes.names).toEqual(names);
  const reply = String(encodeFilterResult(nodes, () => "no % left"));
  expect(reply).toContain('{"constructor":"no % left","__proto__":"no % left","toString":');
  expect(Object.entries(JSON.parse(reply).FailedAndUnresolvableNodes).length).toBe(6);
  const meta = '{"NodeNameToMetaVictims":{"__proto__":{"Pods":[{"UID":"u"}]},"constructor":{"Pods":[]}}}';
  const decoded = decodePreemptionArgs(body(meta));
  expect(decoded.ok && [...(decoded.value.candidates?.keys() ?? [])]).toEqual(["__proto__", "constructor"]);
});

// FR-091: kube-scheduler formats the text with itself as the format.
test("no Error carries a percent sign", () => {
  expect(encodeFilterError("label is %d at 100%")).toBe(
    '{"Nodes":null,"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":"label is  percentd at 100 percent"}',
  );
  expect(encodeBindingResult("%s")).not.toContain("%");
});

const wrong: Record<string, { text: string; want: string }> = {
  "an empty body": { text: "", want: "the body is empty" },
  "broken JSON": { text: '{"Pod":', want: "the body is not JSON" },
  "bytes after the JSON": { text: "{} x", want: "the body is not JSON" },
  "a megabyte of spaces": { text: " ".repeat(1 << 20), want: "the body is not JSON" },
  "an array": { text: "[]", want: "the body is not a JSON object" },
  null: { text: "null", want: "the body is not a JSON object" },
  "a Pod that is a text": { text: '{"Pod":"p"}', want: "Pod is not an object" },
  "a Pod that is an array": { text: '{"Pod":[]}', want: "Pod is not an object" },
  "names that are no array": { text: '{"NodeNames":{"0":"a"}}', want: "NodeNames is not an array" },
  "a name that is no text": { text: '{"NodeNames":["a",1]}', want: "NodeNames[1] is no name" },
  "a name that is null": { text: '{"NodeNames":[null]}', want: "NodeNames[0] is no name" },
  "nodes that are an array": { text: '{"Nodes":[]}', want: "Nodes is not an object" },
  "items that are no array": { text: '{"Nodes":{"items":{}}}', want: "Nodes.items is not an array" },
  "a node without a name": { text: '{"Nodes":{"items":[{}]}}', want: "Nodes.items[0].metadata.name is no name" },
  "two spellings of one field": {
    text: '{"NodeNames":["a"],"nodenames":["b"]}',
    want: "the body names the field nodenames twice",
  },
  "200,000 brackets": { text: `${"[".repeat(200_000)}${"]".repeat(200_000)}`, want: "the body is not a JSON object" },
};

test.for(Object.entries(wrong))("%s is refused with the reason", ([, { text, want }]) => {
  expect(decodeExtenderArgs(body(text))).toEqual({ ok: false, problem: want });
});

test("a deeply nested Pod or node overflows nothing", () => {
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  const { nodes } = args(`{"Pod":{"x":${deep}},"Nodes":{"items":[{"metadata":{"name":"a"},"x":${deep}}]}}`);
  expect(nodes?.names).toEqual(["a"]);
});

test("the other verbs name the field that is wrong", () => {
  const binding = (text: string) => decodeBindingArgs(body(text));
  expect(binding('{"PodName":1}')).toEqual({ ok: false, problem: "PodName is not a string" });
  expect(binding('{"podname":"p","Node":null}')).toEqual({
    ok: true,
    value: { PodName: "p", PodNamespace: "", PodUID: "", Node: "" },
  });
  const preemption = (text: string) => {
    const decoded = decodePreemptionArgs(body(text));
    return decoded.ok ? "fine" : decoded.problem;
  };
  expect(preemption('{"NodeNameToVictims":{"n":{"Pods":[{}]}}}')).toBe('NodeNameToVictims["n"].Pods[0] has no UID');
  expect(preemption('{"NodeNameToMetaVictims":{"n":{"NumPDBViolations":1.5}}}')).toBe(
    'NodeNameToMetaVictims["n"].NumPDBViolations is not a whole number',
  );
  // A number that a double rounds would not come back as it was given; beyond 1e21 Go could not read it at all.
  for (const number of ["9007199254740993", "1e30", '"1"', "true"]) {
    expect(preemption(`{"NodeNameToMetaVictims":{"n":{"NumPDBViolations":${number}}}}`)).toBe(
      'NodeNameToMetaVictims["n"].NumPDBViolations is not a whole number',
    );
  }
  expect(preemption('{"NodeNameToMetaVictims":{"n":[]}}')).toBe('NodeNameToMetaVictims["n"] is not an object');
  expect(preemption('{"NodeNameToMetaVictims":{"n":{"Pods":{}}}}')).toBe(
    'NodeNameToMetaVictims["n"].Pods is not an array',
  );
  expect(decodePod(body('{"kind":"Pod"}'))).toEqual({ ok: true, value: { kind: "Pod" } });
  expect(decodeExtenderArgs(undefined)).toEqual({ ok: false, problem: "the body is empty" });
  expect(decodeExtenderArgs('{"Pod":{}}')).toEqual({ ok: true, value: { pod: {} } });
});
