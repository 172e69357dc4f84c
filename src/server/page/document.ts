/** A whole page, and how it goes out: what browsers are told to refuse is the second lock, escaping the first. */
import type { HttpReply } from "../../runtime/runtime.ts";
import { type Html, html } from "./html.ts";

/**
 * Nothing but this listener's own stylesheet and script, no script in the page, and no way for the script to make markup out of text.
 *
 * @see Content Security Policy Level 3; Trusted Types
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Of everything that browsers are to show or run here. */
export const browserHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

export interface Page {
  readonly title: string;
  /** When it was true, as `isoTime` has it. */
  readonly at: string;
  /** What the script puts in place of what was there: each child of it with an id of its own. */
  readonly main: Html;
}

/** What a page may be long; whatever makes one has smaller forms of it. */
const pageBytesMax = 512 << 10;

export function pageReply(status: number, page: Page): HttpReply {
  return replyOf(status, documentOf(page));
}

/**
 * The first that is short enough, else the last.
 *
 * @param sizes  how much the page shows, the most first; not empty
 */
export function boundedReply<T>(sizes: readonly T[], pageOf: (size: T) => Page): HttpReply {
  let body = "";
  for (const size of sizes) {
    body = documentOf(pageOf(size));
    if (Buffer.byteLength(body) <= pageBytesMax) break;
  }
  return replyOf(200, body);
}

function replyOf(status: number, body: string): HttpReply {
  return { status, headers: { ...browserHeaders, "content-type": "text/html; charset=utf-8" }, body };
}

function documentOf({ title, at, main }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/debug/page.css">
<script src="/debug/page.js" defer></script>
</head>
<body>
<header>
<nav aria-label="Pages"><a href="/debug/"><b>Berth</b></a></nav>
<p id="now"><span class="unseen">As of </span><time datetime="${at}">${timeOf(at)}</time> UTC <span id="live-state"></span></p>
<p class="controls"><button id="live" type="button" hidden>Pause</button> <a id="refresh" href="">Refresh</a></p>
</header>
${main}
</body>
</html>
`.toString();
}

/** "2026-01-01T12:34:56.789Z" as "12:34:56". */
function timeOf(at: string): string {
  return at.slice(11, 19);
}
