/**
 * Replies to kube-scheduler, written out by hand: with thousands of nodes a map of refusals costs three times as much through
 * an object, and an object cannot hold every node name.
 *
 * @see kubernetes staging/src/k8s.io/kube-scheduler/extender/v1/types.go
 */
import type { NodeName } from "../scheduling/names.ts";
import type { AskedNodes, HostPriority, MetaVictims } from "./extender.ts";

/** ExtenderFilterResult that passes every node, as it was asked about. */
export function encodeAllPassed(asked: AskedNodes): Uint8Array | string {
  return encodePassed(asked, asked.names, passedRest);
}

/**
 * ExtenderFilterResult in the form of the request, which names each node once. All refusals are "unresolvable": evicting Pods frees no volume, and a
 * node in FailedNodes would become a preemption candidate without victims (design.md §3).
 *
 * @param textOf  what is told of the node at this index; "" passes it
 */
export function encodeFilterResult(asked: AskedNodes, textOf: (index: number) => string): Uint8Array | string {
  const passed: number[] = [];
  let refused = "";
  const quotedTexts = new Map<string, string>();
  for (const [index, name] of asked.names.entries()) {
    const text = textOf(index);
    if (text === "") {
      passed.push(index);
      continue;
    }
    const quotedText = quotedTexts.get(text) ?? JSON.stringify(text);
    quotedTexts.set(text, quotedText);
    refused += `${refused === "" ? "" : ","}${quoteName(name)}:${quotedText}`;
  }
  const rest = `"FailedNodes":{},"FailedAndUnresolvableNodes":{${refused}},"Error":""}`;
  if (passed.length === asked.names.length) return encodePassed(asked, asked.names, rest);
  const names = passed.flatMap((index) => asked.names[index] ?? []);
  if (asked.form === "NodeNames") return encodePassed({ ...asked, names }, names, rest);
  return encodePassed({ ...asked, objects: passed.flatMap((index) => asked.objects[index] ?? []) }, names, rest);
}

function encodePassed(asked: AskedNodes, names: readonly NodeName[], rest: string): Uint8Array | string {
  if (asked.form === "NodeNames") return `{"Nodes":null,"NodeNames":${JSON.stringify(names)},${rest}`;
  const parts: Uint8Array[] = [Buffer.from('{"Nodes":{"metadata":{},"items":[')];
  for (const object of asked.objects) parts.push(...(parts.length > 1 ? [commaBytes] : []), object);
  parts.push(Buffer.from(`]},"NodeNames":null,${rest}`));
  return Buffer.concat(parts);
}

const passedRest = '"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}';
const commaBytes = Buffer.from(",");

/** ExtenderFilterResult of a call that could not be judged: kube-scheduler asks again within seconds. */
export function encodeFilterError(error: string): string {
  return `{"Nodes":null,"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":${quoteError(error)}}`;
}

/** HostPriorityList. Empty says "no opinion". */
export function encodeHostPriorities(priorities: readonly HostPriority[]): string {
  return `[${priorities.map(({ Host, Score }) => `{"Host":${quoteName(Host)},"Score":${Score}}`).join(",")}]`;
}

/** ExtenderPreemptionResult; kube-scheduler reads this one field, whatever form it asked in. */
export function encodePreemptionResult(candidates: Iterable<readonly [NodeName, MetaVictims]>): string {
  const entries = Array.from(candidates, ([name, victims]) => `${JSON.stringify(name)}:${JSON.stringify(victims)}`);
  return `{"NodeNameToMetaVictims":{${entries.join(",")}}}`;
}

/** ExtenderBindingResult; "" says that the Pod is bound. */
export function encodeBindingResult(error: string): string {
  return `{"Error":${quoteError(error)}}`;
}

/** kube-scheduler hands an `Error` to a Go formatter as the format: a percent sign would turn what follows into noise. */
function quoteError(error: string): string {
  return JSON.stringify(error.replaceAll("%", " percent"));
}

const plainName = /^[a-z0-9.-]*$/;

/** Nearly every name is a DNS name, which needs no escapes. */
function quoteName(name: string): string {
  return plainName.test(name) ? `"${name}"` : JSON.stringify(name);
}
