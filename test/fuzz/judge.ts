/** What must hold of every request, whatever it is. A sentence that does not is a `Finding`. */
import type { HttpReply } from "../../src/runtime/runtime.ts";
import type { Call, Meaning, Request, Verb } from "./reader.ts";
import { meaningOf } from "./reader.ts";
import { errorOf, type FilterReply, formProblem, readFilterReply, textOf } from "./replies.ts";
import { type FuzzWorld, limits, type Write } from "./world.ts";

export interface Finding {
  readonly invariant: string;
  readonly text: string;
}

export interface Verdict {
  readonly finding?: Finding;
  readonly meaning: Meaning;
  readonly status: number;
}

/** Longer than any line that names a Pod, a node and a reason. */
const lineMax = 8_192;

export async function judgeRequest(world: FuzzWorld, request: Request): Promise<Verdict> {
  const meaning = meaningOf(request, limits);
  const before = world.quickDigest();
  const othersBefore = meaning.kind === "sound" ? world.quickDigest(meaning.call.podUid) : before;
  const writes = world.writes.length;
  let reply: HttpReply;
  try {
    reply = await world.ask(request);
  } catch (thrown) {
    const polluted = pollution();
    if (polluted !== undefined) return { meaning, status: 0, finding: find("no prototype is touched", polluted) };
    return { meaning, status: 0, finding: { invariant: "every request is answered", text: String(thrown) } };
  }
  const verdict = { meaning, status: reply.status };
  const problem =
    always(world, reply, meaning) ??
    writesProblem(world, meaning, world.writes.slice(writes)) ??
    (meaning.kind === "sound" ? undefined : unchanged(before, world.quickDigest())) ??
    (await meant(world, reply, meaning, othersBefore, request));
  return problem ? { ...verdict, finding: problem } : verdict;
}

function find(invariant: string, text: string): Finding {
  return { invariant, text };
}

function always(world: FuzzWorld, reply: HttpReply, meaning: Meaning): Finding | undefined {
  const { status } = reply;
  const [fault] = world.faults.splice(0);
  if (fault !== undefined) return find("Berth has no fault of its own", fault.slice(0, 2_000));
  if (status !== 200 && status !== 302 && (status < 400 || status > 499))
    return find("only 200, 4xx and deliberate 503", `status ${status}`);
  const verb = "verb" in meaning ? meaning.verb : undefined;
  const form = formProblem(reply, verb);
  if (form !== undefined) return find("a reply has its form", `${form}: ${textOf(reply).slice(0, 500)}`);
  const polluted = pollution();
  if (polluted !== undefined) return find("no prototype is touched", polluted);
  const longest = world.lineMax;
  world.lineMax = 0;
  return longest > lineMax ? find("a request leaves a short line in the log", `${longest} characters`) : undefined;
}

const watched: readonly object[] = [Object.prototype, Array.prototype, String.prototype, Function.prototype, Object];
const members = watched.flatMap((owner) =>
  Object.entries(Object.getOwnPropertyDescriptors(owner)).flatMap(([key, { value }]) =>
    value === undefined ? [] : [{ owner: owner as Record<string, unknown>, key, value: value as unknown }],
  ),
);

/** What was changed of a prototype or added to it; it is mended, so that the next case starts clean. */
function pollution(): string | undefined {
  for (const { owner, key, value } of members) {
    if (owner[key] === value) continue;
    owner[key] = value;
    return key;
  }
  for (const owner of watched) {
    const added = Object.keys(owner);
    if (added.length === 0) continue;
    for (const key of added) Reflect.deleteProperty(owner, key);
    return added.join(", ");
  }
  return undefined;
}

function unchanged(before: string, after: string): Finding | undefined {
  return before === after ? undefined : find("what is refused changes nothing", `${before} became ${after}`);
}

/** A Pod that is there, under its name and uid, may be bound; nobody else's bind writes. */
function writesProblem(world: FuzzWorld, meaning: Meaning, writes: readonly Write[]): Finding | undefined {
  const [first] = writes;
  if (!first) return undefined;
  const what = `${first.method} ${first.path}`;
  if (meaning.kind !== "sound" || meaning.verb !== "bind") return find("only a bind writes", what);
  const pod = podOf(world, meaning.call);
  if (!pod) return find("only a bind of a Pod that is there writes", what);
  const own = new RegExp(
    `^/api/v1/(namespaces/d/pods/${pod.metadata.name}/binding|persistentvolumes/[^/]+|namespaces/d/persistentvolumeclaims/[^/]+)$`,
  );
  const stranger = writes.find(({ path }) => !own.test(path) && !path.includes("/events"));
  return stranger && find("a bind writes what is its Pod's", `${stranger.method} ${stranger.path}`);
}

export function podOf(world: FuzzWorld, { podKey, podUid }: Call) {
  return world.pods.find(
    ({ metadata }) => `${metadata.namespace}/${metadata.name}` === podKey && metadata.uid === podUid,
  );
}

async function meant(
  world: FuzzWorld,
  reply: HttpReply,
  meaning: Meaning,
  othersBefore: string,
  request: Request,
): Promise<Finding | undefined> {
  const { status } = reply;
  const says = `${status} ${textOf(reply).slice(0, 300)}`;
  switch (meaning.kind) {
    case "refused":
    case "page":
      return meaning.statuses.includes(status) ? undefined : find(`answered ${meaning.statuses.join(" or ")}`, says);
    case "faulty":
      return saysNothing(reply, meaning.verb) ? undefined : find("what cannot be answered is told so, with 200", says);
    case "sound":
      if (status !== 200) return find("what can be read is answered with 200", says);
      return (await sound(world, reply, meaning, request)) ?? others(world, meaning.call, meaning.verb, othersBefore);
  }
}

function saysNothing(reply: HttpReply, verb: Verb): boolean {
  if (reply.status !== 200) return false;
  const text = textOf(reply);
  return verb === "prioritize"
    ? text === "[]"
    : verb === "preempt"
      ? text === '{"NodeNameToMetaVictims":{}}'
      : errorOf(reply, verb) !== "";
}

/** A call changes what is its own Pod's, and nothing at all where it only asks. */
function others(world: FuzzWorld, { podUid }: Call, verb: Verb, before: string): Finding | undefined {
  if (verb === "bind") return undefined;
  const after = world.quickDigest(podUid);
  return before === after ? undefined : find("a call changes its own Pod's holds alone", `${before} became ${after}`);
}

async function sound(
  world: FuzzWorld,
  reply: HttpReply,
  { verb, call }: Meaning & { kind: "sound" },
  request: Request,
): Promise<Finding | undefined> {
  if (verb === "bind") {
    const isBound = errorOf(reply, verb) === "";
    return isBound && !podOf(world, call) ? find("only a Pod that is there is bound", textOf(reply)) : undefined;
  }
  const body = Buffer.from(JSON.stringify(call.plain));
  const plain = await world.ask({ ...request, path: `/v1/${verb}`, contentType: "application/json", body });
  if (verb !== "filter") {
    const [said, meantToSay] = [sorted(textOf(reply)), sorted(textOf(plain))];
    return said === meantToSay
      ? undefined
      : find(
          "the same call in plain words gets the same answer",
          `${said.slice(0, 500)} and ${meantToSay.slice(0, 500)}`,
        );
  }
  const [said, plainly] = [readFilterReply(reply), readFilterReply(plain)];
  return (
    filterProblem(said, call) ??
    (sameVerdict(said, plainly)
      ? undefined
      : find(
          "the same call in plain words gets the same answer",
          `${textOf(reply).slice(0, 500)} and ${textOf(plain).slice(0, 500)}`,
        ))
  );
}

function filterProblem({ passed, failed, form, error }: FilterReply, call: Call): Finding | undefined {
  if (error !== "") return undefined;
  if (form !== call.form) return find("a reply has the form of its request", `${form} for ${call.form}`);
  const told = [...new Set([...passed, ...Object.keys(failed)])].sort();
  const isDisjoint = passed.every((name) => !Object.hasOwn(failed, name));
  const asked = [...call.nodes].sort();
  return isDisjoint && told.join("\n") === asked.join("\n")
    ? undefined
    : find("each node that was asked about is passed or refused", `${told.length} told, ${asked.length} asked`);
}

function sameVerdict(one: FilterReply, other: FilterReply): boolean {
  const key = ({ passed, failed, error }: FilterReply): string =>
    JSON.stringify([[...new Set(passed)].sort(), Object.entries(failed).sort(), error]);
  return key(one) === key(other);
}

/** Go's maps have no order. */
function sorted(text: string): string {
  const json = JSON.parse(text);
  return Array.isArray(json) ? text : JSON.stringify(Object.entries(json.NodeNameToMetaVictims).sort());
}
