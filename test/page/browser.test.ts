/** The pages in Chromium: nothing that objects are named by runs, nothing leaves the origin, and what changes is seen. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Listener } from "../../src/http/listener.ts";
import { TestServer } from "../server/support.ts";
import { makeCapacity, makeNode, makePod, makePV, makePVC } from "../support/make.ts";
import { findChromium, listenTo, PageBrowser, type Visit } from "./browser.ts";
import { askAbout, hopeless, longNames, many, named, nameOf, notReady, shop } from "./worlds.ts";

const chromium = findChromium();
// With CI=true there is one, or the tests fail.
const isSkipped = chromium === undefined && process.env["CI"] !== "true";
const phone = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };

describe.skipIf(isSkipped)("in Chromium", { timeout: 60_000 }, () => {
  let browser: PageBrowser;
  const listeners: Listener[] = [];

  beforeAll(async () => {
    if (chromium === undefined)
      throw new Error("there is no Chromium: install the package chromium, or name one in CHROMIUM");
    browser = await PageBrowser.start(chromium);
  }, 60_000);

  afterAll(async () => {
    await browser?.stop();
    for (const listener of listeners) await listener.closeNow();
  });

  async function visit(
    server: TestServer,
    path: string,
    options: Parameters<PageBrowser["open"]>[0] = {},
  ): Promise<Visit & { readonly origin: string }> {
    const listener = await listenTo(server);
    listeners.push(listener);
    const origin = `http://127.0.0.1:${listener.port}`;
    const visited = await browser.open(options);
    await visited.page.goto(`${origin}${path}`);
    return Object.assign(visited, { origin });
  }

  /** Whatever ran would have set it, or asked somebody. */
  async function expectQuiet({
    page,
    complaints,
    requests,
    origin,
  }: Visit & { readonly origin: string }): Promise<void> {
    expect(complaints).toEqual([]);
    expect(requests.filter((url) => !url.startsWith(`${origin}/`) && url !== "data:,")).toEqual([]);
    expect(await page.evaluate("globalThis.pwned")).toBeUndefined();
    expect(await page.locator("script").count()).toBe(1);
    expect(
      await page.locator("img, iframe, svg, base, form, object, embed, style, body [src], body meta").count(),
    ).toBe(0);
    const handlers = `[...document.querySelectorAll("*")].flatMap((one) => one.getAttributeNames()).filter((name) => /^(on|style)/.test(name))`;
    expect(await page.evaluate(handlers)).toEqual([]);
    const links = await page.locator("a").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
    expect(links.filter((href) => href !== "" && !href?.startsWith("/debug/"))).toEqual([]);
  }

  /** What a name could try, in every place that it is shown in. */
  const attacks = [
    `<script>pwned=1</script>`,
    `<img src=x onerror=pwned=1>`,
    `"><svg onload=pwned=1>`,
    `' onmouseover='pwned=1`,
    `" autofocus onfocus="pwned=1`,
    `</title></style></script><script>pwned=1</script>`,
    "javascript:pwned=1",
    `<base href=//evil.example>`,
    `<meta http-equiv=refresh content=0;url=//evil.example>`,
    `-->]]><iframe src=//evil.example>`,
    `&lt;script&gt;pwned=1&lt;/script&gt;`,
    `\u202egnp.exe<a href=//evil.example id=live>`,
    `{{constructor.constructor('pwned=1')()}}`,
  ];

  test("whatever everything is named, it stays a name on every page", async () => {
    const { server } = await named(attacks);
    const reader = await visit(server, "/debug/");
    const { page, origin } = reader;
    await expectQuiet(reader);
    expect(await page.locator(".pods li").count()).toBe(3 * attacks.length);
    const texts = await page.locator(".pods .name").allTextContents();
    for (const attack of attacks) {
      const name = nameOf(attack);
      const seen = name.replace("\u202e", "\ufffd");
      expect(texts).toContain(`${seen}/${seen}`);
      await page.goto(`${origin}/debug/pods/${encodeURIComponent(name)}/${encodeURIComponent(name)}`);
      expect(await page.locator("h1 bdi").last().textContent()).toBe(seen);
      expect(await page.locator("#matrix tbody tr:has(td.no)").count()).toBeGreaterThan(1);
      await expectQuiet(reader);
    }
    await reader.context.close();
  });

  test("by its link a Pod of the worst name is found, and the script puts its page together anew", async () => {
    const attack = attacks.join("");
    const { server } = await named([attack.slice(0, 200)]);
    const reader = await visit(server, "/debug/");
    const { page } = reader;
    await page.locator(".pods .name a").first().click();
    await page.waitForURL(({ pathname }) => pathname.startsWith("/debug/pods/"));
    for (const summary of await page.locator("summary").all()) await summary.click();
    for (const cell of await page.locator("#matrix tbody > tr > *").all()) await cell.hover();
    server.add(makeNode("zzz"));
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Go on" }).click();
    await expect.poll(() => page.locator("#matrix").textContent()).toContain("zzz");
    await expectQuiet(reader);
    await reader.context.close();
  });

  test("the attacks would be found: without escaping they run, and what the policy stops is reported", async () => {
    const open = await browser.open();
    await open.page.setContent(`<main><img src=x onerror="pwned=1"></main>`);
    await expect.poll(() => open.page.evaluate("globalThis.pwned")).toBe(1);
    await open.context.close();
    const reader = await visit(new TestServer(), "/debug/");
    await reader.page.evaluate(`
      const image = document.createElement("img");
      image.src = "http://evil.example/x";
      document.body.append(image);
    `);
    await expect.poll(() => reader.complaints.join()).toMatch(/Content Security Policy/);
    await expect(expectQuiet(reader)).rejects.toThrow();
    await reader.context.close();
  });

  test("no script can make markup out of text: browsers refuse it", async () => {
    const reader = await visit(new TestServer(), "/debug/");
    const refused = await reader.page.evaluate(`
      try { document.body.innerHTML = "<b>x</b>"; "made" } catch (fault) { String(fault) }
    `);
    expect(refused).toContain("TrustedHTML");
    await reader.context.close();
  });

  test.for<[string, () => Promise<{ server: TestServer; path: string }>, string?]>([
    ["the overview", shop, "/debug/"],
    ["the overview of many nodes", () => many(300), "/debug/"],
    ["the overview of very long names", longNames, "/debug/"],
    ["a Berth that is not ready", notReady, "/debug/"],
    ["a Pod", shop],
    ["a Pod with many claims on many nodes", () => many(300, 8)],
    ["a Pod with very long names", longNames],
    ["a Pod whose claim is missing", hopeless],
  ])("%s is read on a phone without moving sideways, and without a complaint of the browser", async ([, make, at]) => {
    const { server, path } = await make();
    const reader = await visit(server, at ?? path, phone);
    const { page } = reader;
    const width = await page.evaluate("document.documentElement.scrollWidth");
    expect(width).toBe(360);
    await expectQuiet(reader);
    const matrix = page.locator("#matrix .scroll");
    if ((await matrix.count()) > 0) {
      const before = await page.locator("#matrix tbody th").first().boundingBox();
      await matrix.evaluate((box) => box.scrollBy(10_000, 0));
      const after = await page.locator("#matrix tbody th").first().boundingBox();
      // The nodes' names stay where they are.
      expect(after?.x).toBeCloseTo(before?.x ?? -1, 0);
    }
    await reader.context.close();
  });

  test("a Pod that comes to wait is seen, and one that leaves is gone, while the reader keeps his place", async () => {
    const { server } = await shop();
    const reader = await visit(server, "/debug/", { viewport: { width: 800, height: 400 } });
    const { page } = reader;
    const names = () => page.locator(".pods .name").allTextContents();
    expect(await names()).toHaveLength(7);
    await page.evaluate(`document.querySelector(".pods li:nth-child(2)").isSame = true`);
    await page.locator(".pods a").nth(1).focus();
    await page.evaluate("scrollTo(0, 300)");
    const newcomer = makePod("newcomer", ["new"], { uid: "u-new" });
    server.add(makePVC("new", { request: "900Gi" }), newcomer);
    await askAbout(server, newcomer);
    server.world.state.delete("pod", "d/search-0");
    await expect.poll(names, { timeout: 15_000 }).toContain("d/newcomer");
    expect(await names()).not.toContain("d/search-0");
    expect(await page.locator("#pods-count").textContent()).toContain("3 no node fits");
    // The row of db-0 is the very one, a place further up.
    expect(await page.evaluate(`document.querySelector(".pods li:nth-child(1)").isSame`)).toBe(true);
    expect(await page.evaluate("document.activeElement.textContent")).toBe("d/db-0");
    expect(await page.evaluate("scrollY")).toBe(300);
    await expectQuiet(reader);
    await reader.context.close();
  });

  test("what the reader opened stays open, and where he scrolled to in the matrix he stays", async () => {
    const { server, path } = await shop();
    const reader = await visit(server, path, phone);
    const { page } = reader;
    await page.locator("summary").first().click();
    await page.locator("#matrix .scroll").evaluate((box) => box.scrollBy(15, 0));
    server.add(
      makePV("alpha-new", { on: "alpha", capacity: "120Gi" }),
      makeCapacity("c-alpha", { class: "lvm", on: "alpha", capacity: "500Gi", version: "9" }),
    );
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Go on" }).click();
    await expect
      .poll(() => page.locator("#verdict").textContent(), { timeout: 15_000 })
      .toContain("Its volumes fit on 1 of 5 nodes");
    expect(await page.locator("details").first().getAttribute("open")).toBe("");
    expect(await page.locator("#matrix .scroll").evaluate((box) => box.scrollLeft)).toBe(15);
    await expectQuiet(reader);
    await reader.context.close();
  });

  test("a tab that is hidden asks nothing, and asks at once when it is seen again", async () => {
    const { server } = await shop();
    const reader = await visit(server, "/debug/");
    const { page, requests } = reader;
    const hide = (isHidden: boolean) =>
      page.evaluate(`
        Object.defineProperty(document, "hidden", { configurable: true, get: () => ${isHidden} });
        document.dispatchEvent(new Event("visibilitychange"));
      `);
    const asked = () => requests.filter((url) => url.endsWith("/debug/")).length;
    await page.clock.install();
    await hide(true);
    await page.clock.runFor(120_000);
    expect(asked()).toBe(1);
    await hide(false);
    await expect.poll(asked).toBe(2);
    await reader.context.close();
  });

  test("paused it asks nothing; and where Berth is gone it says so, keeps what it has, and asks less and less", async () => {
    const { server } = await shop();
    const reader = await visit(server, "/debug/");
    const { page, requests } = reader;
    const asked = () => requests.filter((url) => url.endsWith("/debug/")).length;
    await page.clock.install();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.clock.runFor(60_000);
    expect(asked()).toBe(1);
    expect(await page.locator("#live-state").textContent()).toBe("· paused");
    await listeners.at(-1)?.closeNow();
    await page.getByRole("button", { name: "Go on" }).click();
    await expect.poll(() => page.locator("#live-state").textContent()).toBe("Berth does not answer");
    expect(await page.locator(".pods li").count()).toBe(7);
    await reader.context.close();
  });

  test("without script the page is whole, and has a link to refresh it", async () => {
    const { server, path } = await shop();
    const reader = await visit(server, path, { javaScriptEnabled: false });
    const { page } = reader;
    expect(await page.locator("#matrix tbody tr").count()).toBe(5);
    expect(await page.getByRole("button").count()).toBe(0);
    server.world.state.delete("node", "delta");
    await page.getByRole("link", { name: "Refresh" }).click();
    expect(await page.locator("#matrix tbody tr").count()).toBe(4);
    await reader.context.close();
  });
});
