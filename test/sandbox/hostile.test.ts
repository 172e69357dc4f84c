import { expect, test } from "vitest";
import { configMaps, makeApi, makeMap, makePod, pods } from "./api-client.ts";

const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const json = { "content-type": "application/json" };
const merge = { "content-type": "application/merge-patch+json" };
const yaml = { "content-type": "application/yaml" };
const metadata = '"metadata":{"name":"x"}';

const hostile: Record<
  string,
  { method?: string; path?: string; body?: string; headers?: Record<string, string>; status: number }
> = {
  "a body that is no JSON": { body: "{", status: 400 },
  "no body": { status: 400 },
  "a body that is a list": { body: "[]", status: 400 },
  "a body that is null": { body: "null", status: 400 },
  "a prototype as a field": { body: `{${metadata},"__proto__":{"x":1}}`, status: 400 },
  "a prototype under escapes": { body: `{${metadata},"\\u005f_proto__":{"x":1}}`, status: 400 },
  "a prototype as a label": { body: '{"metadata":{"name":"x","labels":{"__proto__":"y"}}}', status: 400 },
  "a prototype in YAML": { body: "metadata: {name: x, __proto__: {a: 1}}", headers: yaml, status: 400 },
  "YAML that is none": { body: "a: [", headers: yaml, status: 400 },
  "YAML that grows by aliases": {
    body: `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c]`,
    headers: yaml,
    status: 400,
  },
  "a number out of range": { body: `{${metadata},"data":{"a":1e999}}`, status: 400 },
  "nesting without end": { body: `{${metadata},"data":${deep(100_000)}}`, status: 400 },
  "a body over 3 MiB": { body: `{${metadata},"data":{"a":"${"x".repeat(3 * 1024 * 1024)}"}}`, status: 413 },
  "metadata that is a text": { body: '{"metadata":"x"}', status: 400 },
  "a label that is a number": { body: '{"metadata":{"name":"x","labels":{"a":1}}}', status: 400 },
  "labels that are a list": { body: '{"metadata":{"name":"x","labels":["a"]}}', status: 400 },
  "a name that is a list": { body: '{"metadata":{"name":["x"]}}', status: 400 },
  "a spec that is a number": { path: pods, body: `{${metadata},"spec":7}`, status: 400 },
  "containers that are no list": { path: pods, body: `{${metadata},"spec":{"containers":{"a":1}}}`, status: 422 },
  "containers of nulls": { path: pods, body: `{${metadata},"spec":{"containers":[null,1,"a"]}}`, status: 422 },
  "a name with a slash": { body: '{"metadata":{"name":"a/b"}}', status: 422 },
  "a body of another type": { body: "k8s", headers: { "content-type": "application/x-yaml2" }, status: 415 },
  "a path that is not well encoded": { method: "GET", path: `${configMaps}/%E0%A4%A`, status: 400 },
  "a path of nobody's": { method: "GET", path: "/apis/nobody/v1/things", status: 404 },
  "a resource named like a method": { method: "GET", path: "/api/v1/constructor", status: 404 },
  "a method of nobody's": { method: "TRACE", status: 405 },
  "a subresource of nobody's": { method: "PUT", path: `${configMaps}/there/status`, body: "{}", status: 404 },
  "a patch that is a number": { method: "PATCH", path: `${configMaps}/there`, body: "7", headers: merge, status: 400 },
  "a patch that removes the metadata": {
    method: "PATCH",
    path: `${configMaps}/there`,
    body: '{"metadata":null,"data":{"a":1}}',
    headers: merge,
    status: 422,
  },
  "a patch with a prototype": {
    method: "PATCH",
    path: `${configMaps}/there`,
    body: '{"__proto__":{"a":1}}',
    headers: merge,
    status: 400,
  },
  "a subresource that cannot be read": { method: "GET", path: `${configMaps}/there/log`, status: 404 },
  "a write in no namespace": { path: "/api/v1/configmaps", body: `{${metadata}}`, status: 405 },
  "an answer that could not be given": {
    body: `{${metadata}}`,
    headers: { ...json, accept: "application/vnd.kubernetes.protobuf" },
    status: 406,
  },
  "a grace that is no number": { method: "DELETE", path: `${configMaps}/there?gracePeriodSeconds=abc`, status: 400 },
  "a token for a version of the future": {
    method: "GET",
    path: `${configMaps}?continue=${Buffer.from('{"v":"meta.k8s.io/v1","rv":999,"start":"a"}').toString("base64url")}`,
    status: 400,
  },
  "a limit beyond all numbers": { method: "GET", path: `${configMaps}?limit=99999999999999999999`, status: 400 },
};

test.for(Object.entries(hostile))("%s is refused in words and changes nothing", async ([, attack]) => {
  const { call, post, api, faults } = makeApi();
  await post(configMaps, makeMap("there"));
  const before = api.resourceVersion;
  const { method = "POST", path = configMaps, body, headers = json, status } = attack;
  const answer = await call(method, path, body, headers);
  expect(answer).toMatchObject({ status, body: { kind: "Status", status: "Failure", code: status } });
  expect(answer.body.message).not.toBe("");
  expect(api.resourceVersion).toBe(before);
  expect(faults).toEqual([]);
  expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
});

const envelope = (...raw: number[]): Uint8Array => {
  const type = [0x0a, 2, ...Buffer.from("v1"), 0x12, 9, ...Buffer.from("ConfigMap")];
  return Buffer.from([...Buffer.from("k8s\0"), 0x0a, type.length, ...type, 0x12, raw.length, ...raw]);
};

const protobuf: Record<string, { body: Uint8Array; status: number }> = {
  "without its magic": { body: Buffer.from("k9s\0abc"), status: 400 },
  "of an unknown kind": { body: Buffer.from("k8s\0"), status: 415 },
  "that ends too early": { body: envelope(0x0a, 50, 1), status: 400 },
  "with a number that never ends": { body: envelope(...Array<number>(20).fill(0xff)), status: 400 },
  "with an unknown field": { body: envelope(0x7a, 1, 65), status: 415 },
  "with a prototype as a key": {
    body: envelope(0x12, 14, 0x0a, 9, ...Buffer.from("__proto__"), 0x12, 1, 65),
    status: 400,
  },
};

test.for(Object.entries(protobuf))("protobuf %s is refused", async ([, { body, status }]) => {
  const { api, faults } = makeApi();
  const headers = { "content-type": "application/vnd.kubernetes.protobuf" };
  const reply = await api.exchange({ method: "POST", path: configMaps, headers, body }, new AbortController().signal);
  expect([reply.status, faults]).toEqual([status, []]);
});

test("patches do not grow an object beyond what a request could hold", async () => {
  const { patch, post, get } = makeApi();
  await post(configMaps, makeMap("a", { a: "x".repeat(1024 * 1024) }));
  const copies = ["b", "c", "d"].map((key) => ({ op: "copy", from: "/data/a", path: `/data/${key}` }));
  expect((await patch(`${configMaps}/a`, "json-patch+json", copies)).status).toBe(413);
  expect(Object.keys((await get(`${configMaps}/a`)).body.data)).toEqual(["a"]);
});

test("objects and labels may be named like methods", async () => {
  const { post, get, call } = makeApi();
  for (const name of ["constructor", "tostring", "hasownproperty"]) {
    expect((await post(pods, makePod(name, { labels: { constructor: "yes", valueOf: "x" } }))).status).toBe(201);
  }
  expect((await get(`${pods}?labelSelector=constructor%3Dyes`)).body.items).toHaveLength(3);
  expect((await get(`${pods}/constructor`)).body.metadata.name).toBe("constructor");
  expect((await call("DELETE", `${pods}/constructor`)).status).toBe(200);
  expect((await get("/api/v1/namespaces/constructor/pods")).body.items).toEqual([]);
});
