// Serves dist/ as the server will: with its policy, and with index.html for every address that is not a file. Requests to /api go to
// a windlass that is started for it, or to the one that WINDLASS_API names.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
  "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

function sendFile(url, answer) {
  const path = join("dist", decodeURIComponent(new URL(url, "http://x").pathname));
  const isFile = path.startsWith("dist") && existsSync(path) && statSync(path).isFile();
  if (!isFile && path.startsWith(join("dist", "assets"))) return answer.writeHead(404).end();
  const file = isFile ? path : "dist/index.html";
  answer.writeHead(200, {
    "Content-Type": TYPES[extname(file)] ?? "application/octet-stream",
    "Content-Security-Policy": POLICY,
    "Cache-Control": isFile && file.includes("assets") ? "public, max-age=31536000, immutable" : "no-cache",
  });
  answer.end(readFileSync(file));
}

/** Starts a windlass with a data folder of its own. */
async function startWindlass(binary) {
  const folder = mkdtempSync(join(tmpdir(), "windlass-walk-"));
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const args = ["serve", "--data-dir", folder, "--listen", `127.0.0.1:${port}`, "--edge-http", "127.0.0.1:0"];
  // A code host that a test stands in for is on this machine.
  args.push("--allow-private-targets", "true");
  const child = spawn(binary, args, { stdio: process.env.WINDLASS_VERBOSE ? "inherit" : "ignore" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const stop = async () => {
    // Its edge would outlive a server that is only killed.
    await new Promise((resolve) => spawn(binary, ["stop", "--data-dir", folder]).once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const origin = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 150; tries += 1) {
    const answers = await fetch(`${origin}/api/v1/health`).then(
      () => true,
      () => false,
    );
    if (answers) return { origin, stop, folder };
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await stop();
  throw new Error("windlass does not answer");
}

export async function serve({ port = 0, binary = process.env.WINDLASS ?? "../target/debug/windlass" } = {}) {
  const given = process.env.WINDLASS_API;
  const windlass = given ? { origin: given, stop: async () => {}, folder: null } : await startWindlass(binary);
  const server = createServer((asked, answer) => {
    if (!asked.url.startsWith("/api/")) return sendFile(asked.url, answer);
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
