// Serves dist/ as the server will: with its policy, and with index.html for every address that is not a file. Requests to /api go to
// a windlass that is started for it, or to the one that WINDLASS_API names.
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer, request } from "node:http";
import { extname, join } from "node:path";
import { startServer } from "./browser/server.mjs";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

function sendFile(root, url, answer) {
  const path = join(root, decodeURIComponent(new URL(url, "http://x").pathname));
  const isFile = path.startsWith(root) && existsSync(path) && statSync(path).isFile();
  if (!isFile && path.startsWith(join(root, "assets"))) return answer.writeHead(404).end();
  const file = isFile ? path : join(root, "index.html");
  answer.writeHead(200, {
    "Content-Type": TYPES[extname(file)] ?? "application/octet-stream",
    "Content-Security-Policy": POLICY,
    "Cache-Control": isFile && file.includes("assets") ? "public, max-age=31536000, immutable" : "no-cache",
  });
  answer.end(readFileSync(file));
}

/** `api` is the origin of a server that runs already; `root` the folder with the files. */
export async function serve({ port = 0, api = process.env.WINDLASS_API, root = "dist" } = {}) {
  const windlass = api ? { origin: api, stop: async () => {}, folder: null } : await startServer();
  const server = createServer((asked, answer) => {
    if (!asked.url.startsWith("/api/")) return sendFile(root, asked.url, answer);
    const passed = request(windlass.origin + asked.url, { method: asked.method, headers: asked.headers }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      got.pipe(answer);
    });
    passed.on("error", () => answer.writeHead(502).end());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await windlass.stop();
  };
  return { origin, stop, folder: windlass.folder };
}

if (process.argv[1]?.endsWith("serve.mjs")) {
  const { origin, stop } = await serve({ port: Number(process.env.PORT ?? 0) });
  console.log(origin);
  process.on("SIGINT", () => stop().then(() => process.exit()));
  process.on("SIGTERM", () => stop().then(() => process.exit()));
}
