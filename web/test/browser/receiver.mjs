// Takes what a server sends to channels, and answers as a test wants.
import { createServer } from "node:http";
import { until } from "./until.mjs";

/** Listens on this machine. Until `says` tells another answer for a path, everything is taken. */
export async function startReceiver() {
  const received = [];
  const answers = new Map();
  const server = createServer((request, answer) => {
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      const path = request.url.split("?")[0];
      received.push({ path, headers: request.headers, body });
      const { status, text } = answers.get(path) ?? { status: 200, text: "ok" };
      answer.writeHead(status, { "Content-Type": "text/plain" }).end(text);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const at = (path) => received.filter((one) => one.path === path);
  return {
    origin,
    at,
    says: (path, status, text) => answers.set(path, { status, text }),
    /** The newest that has come there, when there are so many. */
    newest: (path, count) => until(`${count} have come to ${path}`, () => at(path).length >= count && at(path).at(-1)),
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}
