import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { stringify } from "yaml";
import { simulateCommand } from "../../src/cli/simulate.ts";
import { TestServer } from "../server/support.ts";
import { makeClass, makeDriver, makeNode, makePod, makePV, makePVC, type Raw } from "../support/make.ts";
import { runCommand } from "./support.ts";

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "berth-simulate-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

function write(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const list = (items: readonly Raw[], kind = "List") => ({ apiVersion: "v1", kind, metadata: {}, items });
const documents = (objects: readonly unknown[]) => objects.map((object) => stringify(object)).join("---\n");
const simulate = (...argv: string[]) => runCommand(simulateCommand, argv);

const disks = [makePV("a", { on: "n1" }), makePV("b", { on: "n2", capacity: "1Gi" })];
const nodes = [makeNode("n2"), makeNode("n1")];
const cluster = [...nodes, makeClass("local"), ...disks, makePVC("x"), makePod("p", ["x"])];
const replicaSet = { apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "r" }, spec: { replicas: 1 } };

const want = {
  pod: "d/p",
  schedulable: true,
  nodes: [
    { node: "n1", fits: true, contended: false, score: 10, claims: [{ claim: "d/x", volume: "a" }] },
    {
      node: "n2",
      fits: false,
      contended: false,
      score: 0,
      reason: "node(s) didn't find available persistent volumes to bind",
      resolvable: false,
      claims: [{ claim: "d/x", refused: [{ volume: "b", why: "too small: 1Gi of 5Gi" }] }],
    },
  ],
  groups: [
    { fits: true, contended: false, nodes: 1, first: ["n1"] },
    {
      fits: false,
      contended: false,
      reason: "node(s) didn't find available persistent volumes to bind",
      nodes: 1,
      first: ["n2"],
    },
  ],
  claims: [
    {
      claim: "d/x",
      class: "local",
      asks: "5Gi",
      volumes: { count: 1, free: 1, first: [{ volume: "a", size: "10Gi", on: { count: 1, nodes: ["n1"] } }] },
    },
  ],
  notes: [],
};

const forms: Record<string, () => string[]> = {
  "one list in YAML": () => [write("all.yaml", stringify(list(cluster)))],
  "one list in JSON": () => [write("all.json", JSON.stringify(list(cluster)))],
  "JSON under a name that does not say so": () => [write("all.txt", JSON.stringify(list(cluster)))],
  "several documents, one of them empty": () => [write("all.yaml", `---\n${documents(cluster)}---\n# nothing\n`)],
  "a file an object": () => cluster.map((object, index) => write(`${index}.yml`, stringify(object))),
  "lists of one kind, whose items do not say it": () => {
    const bare = nodes.map(({ kind: _, apiVersion: __, ...rest }) => rest);
    return [write("n.json", JSON.stringify(list(bare, "NodeList"))), write("r.yaml", documents(cluster.slice(2)))];
  },
  "a directory, with files of other sorts and kinds in it": () => {
    const sub = join(directory, "manifests");
    mkdirSync(sub);
    writeFileSync(join(sub, "a.yaml"), documents([...cluster, replicaSet]));
    writeFileSync(join(sub, "README.md"), "{");
    return [sub];
  },
};

test.for(Object.entries(forms))("reads %s", async ([, files]) => {
  const argv = files().flatMap((path) => ["-f", path]);
  const { code, stdout, stderr } = await simulate(...argv, "--pod", "d/p", "-o", "json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout)).toEqual(want);
});

test("the same input gives the same bytes, in whatever order it comes", async () => {
  const forwards = write("f.yaml", documents(cluster));
  const backwards = write("b.yaml", documents(cluster.toReversed()));
  const outputs = [forwards, backwards, forwards].map((path) => simulate("-f", path, "--pod", "d/p", "-o", "json"));
  const [first, ...others] = await Promise.all(outputs);
  for (const other of others) expect(other).toEqual(first);
});

test("the table names nodes, verdicts, volumes and what would help", async () => {
  const path = write("all.yaml", documents(cluster));
  const { stdout } = await simulate("-f", path, "--pod", "d/p");
  expect(stdout).toBe(`NODE  FITS  SCORE  DETAIL
n1    yes   10     d/x: volume a
n2    no    -      node(s) didn't find available persistent volumes to bind
                   d/x: b: too small: 1Gi of 5Gi

Pod d/p: 1 of 2 nodes fit
`);
});

/** Each says something of the Pod whatever node one looks at. */
const noteworthy: Record<string, Raw[]> = {
  "what nearly does": [makePV("a", { on: "n1", class: "fast" }), makePVC("x"), makePod("p", ["x"])],
  "what pins the Pod": [
    makePV("a", { on: "n1", claim: "x", claimUid: "claim/d/x" }),
    makePVC("x", { volume: "a" }),
    makePod("p", ["x"]),
  ],
  "what is reserved in vain": [
    makePV("a", { on: "n1", capacity: "1Gi", claim: "x" }),
    makePVC("x"),
    makePod("p", ["x"]),
  ],
  "that it is assigned": [makePVC("x"), makePod("p", ["x"], { node: "n1" })],
  "that it mounts nothing": [makePod("p", [])],
};

test.for(Object.entries(noteworthy))("says what explain says, in both forms: %s", async ([, objects]) => {
  const server = new TestServer().add(...nodes, ...objects);
  const { notes, nodes: _, ...page } = (await server.get("/debug/explain/d/p")).json;
  const said = notes.filter((note: string) => !note.startsWith("never asked"));
  expect(said.length).toBeGreaterThan(0);
  const path = write("all.yaml", documents([...nodes, makeClass("local"), ...objects]));
  const json = JSON.parse((await simulate("-f", path, "--pod", "d/p", "-o", "json")).stdout);
  expect([json.notes, json.suggestion]).toEqual([said, page.suggestion]);
  const table = (await simulate("-f", path, "--pod", "d/p")).stdout;
  for (const note of said) expect(table).toContain(`\nNote: ${note}\n`);
});

test("only the named nodes are looked at, in name order; one that is in no file is refused", async () => {
  const path = write("all.yaml", documents(cluster));
  const argv = ["-f", path, "--pod", "d/p", "--node", "n9", "--node", "n2", "--node", "n9", "-o", "json"];
  const { code, stdout } = await simulate(...argv);
  const found = JSON.parse(stdout).nodes.map(({ node, fits, reason }: Record<string, unknown>) => [node, fits, reason]);
  expect(code).toBe(1);
  expect(found).toEqual([
    ["n2", false, "node(s) didn't find available persistent volumes to bind"],
    ["n9", false, "node(s) not known to the volume extender"],
  ]);
});

test("1 says that no node fits, with the reason that holds for all", async () => {
  const path = write("all.yaml", documents([...nodes, makePod("p", ["gone"])]));
  const { code, stdout, stderr } = await simulate("-f", path, "--pod", "d/p");
  expect([code, stderr]).toEqual([1, ""]);
  expect(stdout).toContain('On every node: persistentvolumeclaim "gone" not found\n');
});

test("a Pod that was never created needs no uid, and no namespace when it is the default one", async () => {
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { volumes: [], containers: [] } };
  const path = write("all.yaml", documents([...nodes, pod]));
  expect((await simulate("-f", path, "--pod", "default/p")).code).toBe(0);
});

test("an object that cannot be read is a warning until the Pod needs it", async () => {
  const broken = { ...makePVC("y"), spec: { resources: { requests: { storage: "1.5.5Gi" } } } };
  const path = write("all.yaml", documents([...cluster, broken, makePod("q", ["y"])]));
  const unrelated = await simulate("-f", path, "--pod", "d/p");
  expect(unrelated.code).toBe(0);
  expect(unrelated.stderr).toMatch(
    /^berth simulate: warning: .*all\.yaml:\d+: PersistentVolumeClaim d\/y cannot be read: .*\n$/,
  );
  const needed = await simulate("-f", path, "--pod", "d/q");
  expect([needed.code, needed.stdout]).toEqual([2, ""]);
  expect(needed.stderr).toMatch(
    /^berth simulate: PersistentVolumeClaim d\/y, which the Pod needs, cannot be read: .*\n$/,
  );
});

const misuses: Record<string, { argv: (file: string) => string[]; want: string }> = {
  "no file": { argv: () => ["--pod", "d/p"], want: 'name at least one file with "-f"' },
  "no Pod": { argv: (file) => ["-f", file], want: 'name the Pod as "--pod NAMESPACE/NAME"' },
  "a Pod without a namespace": { argv: (file) => ["-f", file, "--pod", "p"], want: "--pod p: name the Pod as" },
  "a Pod that is in no file": { argv: (file) => ["-f", file, "--pod", "d/z"], want: "Pod d/z is in none of the files" },
  "a format that does not exist": {
    argv: (file) => ["-f", file, "--pod", "d/p", "-o", "yaml"],
    want: '-o yaml: use "table" or "json"',
  },
  "a mistyped option": {
    argv: (file) => ["-f", file, "--pods", "d/p"],
    want: '--pods is not an option; did you mean "--pod"?',
  },
  "an option without its value": { argv: () => ["--pod"], want: "Option '--pod <value>' argument missing" },
  "a word too many": { argv: (file) => ["-f", file, "d/p"], want: "Unexpected argument 'd/p'" },
  "a file that is not there": {
    argv: () => ["-f", "/nowhere/x.yaml", "--pod", "d/p"],
    want: "/nowhere/x.yaml: no such file or directory",
  },
};

test.for(Object.entries(misuses))("2, and one line that says what to do: %s", async ([, { argv, want: line }]) => {
  const { code, stdout, stderr } = await simulate(...argv(write("all.yaml", documents(cluster))));
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(`berth simulate: ${line}`);
  expect(stderr.match(/\n/g)).toHaveLength(1);
});

const badFiles: Record<string, { text: string; want: string }> = {
  "YAML that is broken": { text: "kind: Pod\nmetadata: {name: [\n", want: "all.yaml:3: " },
  "a text": { text: "hello\n", want: "all.yaml:1: not a Kubernetes object" },
  "an object without a kind": { text: "# first\n\napiVersion: v1\n", want: "all.yaml:3: the object has no kind" },
  "a second object without a name": {
    text: "kind: Other\n---\nkind: Node\nmetadata: {}\n",
    want: "all.yaml:3: Node without metadata.name",
  },
  "aliases that unfold to too much": {
    text: `\n${[0, 1, 2, 3].map((at) => `a${at}: &a${at} [${Array(99).fill(at === 0 ? "x" : `*a${at - 1}`)}]\n`).join("")}`,
    want: "all.yaml:2: Excessive alias count",
  },
  "a list of texts": { text: "kind: List\nitems: [a]\n", want: "items[0] is not an object" },
};

test.for(Object.entries(badFiles))("2, with file and line, for %s", async ([, { text, want: line }]) => {
  const { code, stderr } = await simulate("-f", write("all.yaml", text), "--pod", "d/p");
  expect(code).toBe(2);
  expect(stderr).toContain(line);
  expect(stderr.match(/\n/g)).toHaveLength(1);
});

test("a kind of the same name in another group is passed over", async () => {
  const foreign = { ...makeNode("n1"), apiVersion: "longhorn.io/v1beta2" };
  const path = write("all.yaml", documents([...cluster, { ...foreign, metadata: { name: "n1" } }]));
  const { code, stdout, stderr } = await simulate("-f", path, "--pod", "d/p", "-o", "json");
  expect([code, stderr, JSON.parse(stdout)]).toEqual([0, "", want]);
});

test("merge keys are followed, as kubectl does", async () => {
  const pod = "kind: Pod\nx: &x\n  volumes: [{name: v, persistentVolumeClaim: {claimName: x}}]\n";
  const path = write("p.yaml", `${pod}metadata: {name: m, namespace: d}\nspec:\n  <<: *x\n`);
  const argv = ["-f", write("all.yaml", documents(cluster)), "-f", path, "--pod", "d/m", "-o", "json"];
  expect(JSON.parse((await simulate(...argv)).stdout).nodes[0]).toMatchObject({ claims: [{ claim: "d/x" }] });
});

test("a size that a number cannot hold is refused, in YAML and in JSON", async () => {
  const text = JSON.stringify(list([...cluster, makePVC("y"), makePod("q", ["y"])])).replaceAll(
    '"5Gi"',
    "9007199254740993",
  );
  for (const name of ["all.yaml", "all.json"]) {
    const { code, stderr } = await simulate("-f", write(name, text), "--pod", "d/q");
    expect(code).toBe(2);
    expect(stderr).toContain(
      "spec.resources.requests.storage: a number that cannot be read exactly; write it in quotes",
    );
  }
});

test("2 when no Node is in the files and none is named", async () => {
  const path = write("all.yaml", documents(cluster.slice(2)));
  const { code, stdout, stderr } = await simulate("-f", path, "--pod", "d/p");
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toBe('berth simulate: no Node in the files; add "kubectl get nodes -o yaml"\n');
});

test("kinds that the answer hangs on and that no file has are warnings", async () => {
  const noClass = write("a.yaml", documents([...nodes, ...disks, makePVC("x"), makePod("p", ["x"])]));
  expect((await simulate("-f", noClass, "--pod", "d/p")).stderr).toContain("warning: no StorageClass in the files");
  const driver = { ...makeDriver("csi"), spec: { storageCapacity: true } };
  const csi = { ...makeClass("local"), provisioner: "csi" };
  const noCapacity = write("b.yaml", documents([...nodes, driver, csi, makePVC("x"), makePod("p", ["x"])]));
  const { stderr } = await simulate("-f", noCapacity, "--pod", "d/p");
  expect(stderr).toContain("warning: no CSIStorageCapacity in the files");
  expect(stderr.match(/\n/g)).toHaveLength(1);
});

test("an object that is there twice is a warning with both places, and the last one counts", async () => {
  const path = write("all.yaml", documents(cluster));
  const later = write("later.json", JSON.stringify(list([makePV("a", { on: "n1", capacity: "1Gi" })])));
  const { code, stderr } = await simulate("-f", path, "-f", later, "--pod", "d/p");
  expect(code).toBe(1);
  const said =
    /^berth simulate: warning: PersistentVolume a is in .*all\.yaml:\d+ and in .*later\.json: items\[0\]; the last one counts\n$/;
  expect(stderr).toMatch(said);
});

test.for([
  ["--outptu=json", '--outptu is not an option; did you mean "--output"?'],
  ["-z", '-z is not an option; see "--help"'],
])("%s is told what is near", async ([flag = "", line]) => {
  expect((await simulate(flag)).stderr).toBe(`berth simulate: ${line}\n`);
});

test("an empty directory is a mistake", async () => {
  const { code, stderr } = await simulate("-f", directory, "--pod", "d/p");
  expect([code, stderr]).toEqual([2, `berth simulate: ${directory}: no .yaml, .yml or .json file in this directory\n`]);
});

test("--help goes to stdout", async () => {
  const { code, stdout } = await simulate("--help");
  expect(code).toBe(0);
  expect(stdout).toContain("Usage: berth simulate");
});
