/** `npm run page`: pictures of the pages, for people to look at. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { findChromium, listenTo, PageBrowser } from "./browser.ts";
import { apart, empty, hopeless, longNames, many, notReady, type PageWorld, pinned, shop } from "./worlds.ts";

const help = `Usage: npm run page -- [--out DIR] [--only WORD]

Takes pictures of the debug listener's pages in Chromium: of each cluster on a desk, in the dark, and on a phone.

  --out DIR    where they go (default .cache/page)
  --only WORD  pictures whose name has the word
`;

const worlds: readonly {
  readonly name: string;
  readonly make: () => PageWorld | Promise<PageWorld>;
  readonly path?: string;
}[] = [
  { name: "overview", make: shop, path: "/debug/" },
  { name: "overview-many", make: () => many(3_000), path: "/debug/" },
  { name: "overview-empty", make: empty },
  { name: "overview-not-ready", make: notReady, path: "/debug/" },
  { name: "overview-long-names", make: longNames, path: "/debug/" },
  { name: "pod", make: shop },
  { name: "pod-fits", make: shop, path: "/debug/pods/d/cache-0" },
  { name: "pod-hopeless", make: hopeless },
  { name: "pod-pinned", make: pinned },
  { name: "pod-apart", make: apart },
  { name: "pod-unknown", make: shop, path: "/debug/pods/d/nobody" },
  { name: "pod-many", make: () => many(3_000) },
  { name: "pod-long-names", make: longNames },
];
const looks = [
  { name: "desk", options: { viewport: { width: 1280, height: 800 }, colorScheme: "light" } },
  { name: "dark", options: { viewport: { width: 1280, height: 800 }, colorScheme: "dark" } },
  {
    name: "phone",
    options: {
      viewport: { width: 360, height: 740 },
      colorScheme: "light",
      isMobile: true,
      hasTouch: true,
      deviceScaleFactor: 2,
    },
  },
] as const;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      out: { type: "string", default: ".cache/page" },
      only: { type: "string", default: "" },
      help: { type: "boolean" },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return 0;
  }
  const found = findChromium();
  if (found === undefined) {
    process.stderr.write("page: there is no Chromium; name one in CHROMIUM\n");
    return 1;
  }
  mkdirSync(values.out, { recursive: true });
  const browser = await PageBrowser.start(found);
  for (const { name, make, path } of worlds) {
    const wanted = looks.filter((look) => `${name}-${look.name}`.includes(values.only));
    if (wanted.length === 0) continue;
    const world = await make();
    const listener = await listenTo(world.server);
    for (const look of wanted) {
      const { context, page, complaints } = await browser.open(look.options);
      await page.goto(`http://127.0.0.1:${listener.port}${path ?? world.path}`);
      const file = join(values.out, `${name}-${look.name}.png`);
      await page.screenshot({ path: file, fullPage: true });
      process.stdout.write(`${file}${complaints.map((one) => `\n  ${one}`).join("")}\n`);
      await context.close();
    }
    await listener.closeNow();
  }
  await browser.stop();
  return 0;
}

process.exitCode = await main();
