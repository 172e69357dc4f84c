/** The machine's Chromium before Berth's own pages, on a real socket. */
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { type Listener, listen } from "../../src/http/listener.ts";
import { createServer } from "../../src/server/server.ts";
import type { TestServer } from "../server/support.ts";

/** What works as root in a container, and keeps the browser to itself. */
const startOptions = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Where Chromium is; undefined where there is none. `CHROMIUM` names another one. */
export function findChromium(): string | undefined {
  const named = process.env["CHROMIUM"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const candidates = named ? [named] : names.flatMap((name) => folders.map((folder) => join(folder, name)));
  return candidates.find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export class PageBrowser {
  readonly #browser: BrowserContext;
  readonly #owner: Browser | null;
  readonly #folder: string;

  private constructor(browser: BrowserContext, folder: string) {
    this.#browser = browser;
    this.#owner = browser.browser();
    this.#folder = folder;
  }

  static async start(executablePath: string): Promise<PageBrowser> {
    const folder = mkdtempSync(join(tmpdir(), "berth-chromium-"));
    const browser = await chromium.launchPersistentContext(folder, {
      executablePath,
      args: startOptions,
      timeout: 60_000,
    });
    return new PageBrowser(browser, folder);
  }

  async open(options: BrowserContextOptions = {}): Promise<Visit> {
    if (!this.#owner) throw new Error("a browser without an owner");
    const context = await this.#owner.newContext(options);
    return new Visit(context, await context.newPage());
  }

  async stop(): Promise<void> {
    await this.#browser.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** One reader, and all that his browser complained of or asked for. */
export class Visit {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly complaints: string[] = [];
  readonly requests: string[] = [];

  constructor(context: BrowserContext, page: Page) {
    this.context = context;
    this.page = page;
    page.on("console", (message) => void this.complaints.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => void this.complaints.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
      this.complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    context.on("request", (request) => void this.requests.push(request.url()));
    context.on("page", () => void this.complaints.push("a second page was opened"));
  }
}

/** The debug face of a server. */
export async function listenTo(server: TestServer): Promise<Listener> {
  const { debug } = createServer(server.parts);
  return listen({ handler: debug, host: "127.0.0.1", port: 0, bodyLimitBytes: 1 << 20 });
}
