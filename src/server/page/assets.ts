/** The stylesheet and the script, files of their own: the pages have none within. */
import { readFileSync } from "node:fs";
import type { Handler } from "../parts.ts";
import type { Route } from "../router.ts";
import { browserHeaders } from "./document.ts";

const files = [
  { name: "page.css", type: "text/css; charset=utf-8" },
  { name: "page.js", type: "text/javascript; charset=utf-8" },
].map((file) => ({ ...file, body: readFileSync(new URL(file.name, import.meta.url)) }));

export function assetRoutes(): readonly Route[] {
  return files.map(({ name, type, body }) => {
    const reply = { status: 200, headers: { ...browserHeaders, "content-type": type }, body };
    const handle: Handler = async () => reply;
    return { method: "GET", path: `/debug/${name}`, handle };
  });
}
