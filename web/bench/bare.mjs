// What the first paint is compared with: a page with one script of as many bytes as the dashboard's first view, which writes a heading.
import { createServer } from "node:http";

const PAGE = `<!doctype html><html lang="en"><head><title>Bare</title><script type="module" src="/bare.js"></script></head><body></body></html>`;

export async function startBare(bytes) {
  const draw = 'document.body.innerHTML = "<main><h1>Bare</h1></main>";';
  const script = `${draw}\n//${"x".repeat(Math.max(0, bytes - draw.length - 3))}`;
  const server = createServer((asked, answer) => {
    const isScript = asked.url === "/bare.js";
    answer.writeHead(200, {
      "Content-Type": isScript ? "text/javascript" : "text/html; charset=utf-8",
      "Cache-Control": isScript ? "public, max-age=31536000, immutable" : "no-cache",
    });
    answer.end(isScript ? script : PAGE);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { origin: `http://127.0.0.1:${server.address().port}`, stop };
}
