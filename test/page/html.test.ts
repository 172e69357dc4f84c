/** The one place that makes markup: what is put into it stays text. */
import { globSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Html, html } from "../../src/server/page/html.ts";

test.for([
  { name: "markup", text: "<script>alert(1)</script>", is: "&lt;script&gt;alert(1)&lt;/script&gt;" },
  { name: "quotes of both kinds", text: `" onload='x'`, is: "&quot; onload=&#39;x&#39;" },
  { name: "an entity, which is text and no entity", text: "&lt;b&gt;", is: "&amp;lt;b&amp;gt;" },
  { name: "the end of a comment", text: "-->", is: "--&gt;" },
  { name: "NUL and other control characters", text: "a\u0000b\u001bc\u0085d", is: "a�b�c�d" },
  { name: "characters that turn direction, or are not seen", text: "a\u202eb\u2066c\u200bd\ufeffe", is: "a�b�c�d�e" },
  { name: "half of a character", text: "a\ud800b", is: "a�b" },
  { name: "newlines and tabs, which stay", text: "a\n\tb", is: "a\n\tb" },
  { name: "other scripts, which stay", text: "ärger 日本 עברית", is: "ärger 日本 עברית" },
])("$name", ({ text, is }) => {
  expect(html`<p>${text}</p>`.toString()).toBe(`<p>${is}</p>`);
  expect(html`<p title="${text}"></p>`.toString()).toBe(`<p title="${is}"></p>`);
});

test("whatever the text, a template has the tags that it was written with", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const made = html`<a href="/debug/${text}" title="${text}">${text}</a>`.toString();
      expect(made.match(/[<>"]/g)).toEqual(["<", '"', '"', '"', '"', ">", "<", ">"]);
    }),
  );
});

test("templates within templates are markup, lists are joined, and nothing leaves nothing", () => {
  const items = ["a", "<b>"].map((text) => html`<li>${text}</li>`);
  expect(html`<ul>${items}${undefined}${false}${0}${html`<li hidden></li>`}</ul>`.toString()).toBe(
    "<ul><li>a</li><li>&lt;b&gt;</li>0<li hidden></li></ul>",
  );
});

test.for<[string, (text: string) => Html]>([
  ["in a script", (text) => html`<script>${text}</script>`],
  ["in a stylesheet", (text) => html`<style>${text}</style>`],
  ["as a tag", (text) => html`<${text}>`],
  ["as an attribute", (text) => html`<p ${text}>`],
  ["as an attribute's name", (text) => html`<p ${text}="x">`],
  ["without quotes", (text) => html`<p title=${text}>`],
  ["in single quotes", (text) => html`<p title='${text}'>`],
  ["in a comment", (text) => html`<!-- ${text} -->`],
  ["in what browsers run", (text) => html`<p onclick="${text}">`],
  ["in a style", (text) => html`<p style="${text}">`],
  ["as a source", (text) => html`<img src="${text}">`],
  ["as a whole link", (text) => html`<a href="${text}">`],
  ["as the host of a link", (text) => html`<a href="//${text}/x">`],
  ["as the second part of an attribute without quotes", (text) => html`<p title="${text}" class=${text}>`],
])("text may not stand %s", ([, make]) => {
  expect(() => make("x")).toThrow("nothing may be put in here");
});

test("markup may not stand in quotes, and nobody else makes any", () => {
  expect(() => html`<p title="${html`"`}">`).toThrow("nothing may be put in here");
  expect(() => html`<p title="${[html`"`]}">`).toThrow("nothing may be put in here");
  expect(() => new Html(Symbol("html") as never, "<b>")).toThrow("HTML is made by templates alone");
  expect(html`<p>${{ toString: () => "<b>" } as never}</p>`.toString()).not.toContain("<b>");
});

test("no page has a script, a style or a handler of its own, and none makes markup but by templates", () => {
  const files = globSync("src/server/page/*.{ts,js}");
  expect(files.length).toBeGreaterThan(8);
  for (const file of files) {
    const text = readFileSync(file, "utf8");
    expect(
      text.match(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function/),
      file,
    ).toBeNull();
    expect(text.match(/\s(style|on[a-z]+)="/), file).toBeNull();
    expect(text.match(/<script(?! src="\/debug\/page\.js" defer><\/script>)[ >]/g) ?? [], file).toEqual([]);
  }
});
