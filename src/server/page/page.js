/**
 * Keeps the page as Berth has it now. What has not changed is not touched, so that the reader keeps his place, his selection and what
 * he has opened. Without this script the page is whole, and "Refresh" refreshes it.
 */

/** Milliseconds. A page that takes Berth long is asked for less often. */
const everyMs = 5_000;
const restPerAnswer = 10;
const retryMaxMs = 60_000;
const timeoutMs = 30_000;

const button = document.getElementById("live");
const state = document.getElementById("live-state");
let isPaused = false;
let failures = 0;
let timer;
let asking;

/** Makes one node like another, child by child. Of the same kind both. */
function mend(node, wanted) {
  if (node.isEqualNode(wanted)) return;
  if (node.nodeType !== Node.ELEMENT_NODE) {
    node.nodeValue = wanted.nodeValue;
    return;
  }
  mendAttributes(node, wanted);
  mendChildren(node, wanted);
}

function mendAttributes(node, wanted) {
  for (const { name } of [...node.attributes]) {
    // What the reader opened stays open.
    if (!wanted.hasAttribute(name) && !(node.localName === "details" && name === "open")) node.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes)
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/** Rows move with their key, so that one that leaves takes no other's place. */
function mendChildren(node, wanted) {
  const stays = new Set(Array.from(wanted.children, keyOf));
  const keyed = new Map();
  for (const child of [...node.children]) {
    const key = keyOf(child);
    if (!key) continue;
    if (stays.has(key)) keyed.set(key, child);
    else child.remove();
  }
  let next = node.firstChild;
  for (const child of [...wanted.childNodes]) {
    const key = keyOf(child);
    let own = key ? keyed.get(key) : next;
    if (own && (own.nodeName !== child.nodeName || (!key && keyOf(own)))) own = undefined;
    if (!own) {
      node.insertBefore(document.importNode(child, true), next);
      continue;
    }
    if (key) keyed.delete(key);
    if (own === next) next = own.nextSibling;
    else node.insertBefore(own, next);
    mend(own, child);
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    gone.remove();
  }
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.id || node.dataset.key : undefined;
}

/** XMLHttpRequest parses documents without running anything in them, and no text of ours becomes markup. */
function ask() {
  const started = performance.now();
  const request = new XMLHttpRequest();
  asking = request;
  request.open("GET", location.pathname);
  request.responseType = "document";
  request.timeout = timeoutMs;
  request.onloadend = () => {
    if (asking !== request) return;
    asking = undefined;
    const page = request.response;
    const main = page?.querySelector("main");
    if (!main || request.status === 503) {
      failures++;
      tell(request.status === 0 ? "Berth does not answer" : `Berth answers ${request.status}`, true);
      wait(Math.min(everyMs * 2 ** failures, retryMaxMs));
      return;
    }
    failures = 0;
    const focused = document.activeElement;
    mend(document.querySelector("main"), main);
    // What is moved loses the focus.
    if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
    mend(document.querySelector("#now time"), page.querySelector("#now time"));
    document.title = page.title;
    tell("· live", false);
    wait(Math.max(everyMs, restPerAnswer * (performance.now() - started)));
  };
  request.send();
}

function wait(ms) {
  clearTimeout(timer);
  timer = setTimeout(ask, ms);
}

function stop() {
  clearTimeout(timer);
  const request = asking;
  asking = undefined;
  request?.abort();
}

function tell(text, isLate) {
  state.textContent = text;
  state.className = isLate ? "late" : "";
}

button.addEventListener("click", () => {
  isPaused = !isPaused;
  button.textContent = isPaused ? "Go on" : "Pause";
  stop();
  tell(isPaused ? "· paused" : "· live", false);
  if (!isPaused) ask();
});

document.addEventListener("visibilitychange", () => {
  stop();
  if (!document.hidden && !isPaused) ask();
});

button.hidden = false;
tell("· live", false);
if (!document.hidden) wait(everyMs);
