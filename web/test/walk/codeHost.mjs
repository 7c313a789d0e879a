// A stand-in for a code host: the requests of GitLab's API that a connection needs, and those of GitHub's that making an app does. It
// remembers webhooks and keys, and says no to every token but one.
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";

export const TOKEN = "glpat-of-the-walk";
const COMMIT = "5f2c".repeat(10);
const PER_PAGE_AT_MOST = 50;

export async function startCodeHost() {
  const seen = { hooks: [], keys: [], statuses: 0 };
  const routes = [...gitlab(seen), ...github()];
  const server = createServer(async (asked, answer) => {
    const url = new URL(asked.url, "http://x");
    const body = await read(asked);
    const found = routes.find(([verb, path]) => verb === asked.method && path.test(url.pathname));
    const origin = `http://${asked.headers.host}`;
    const isKnown = asked.headers.authorization !== undefined || asked.headers["private-token"] !== undefined;
    const token = asked.headers["private-token"] ?? asked.headers.authorization?.replace(/^Bearer /, "");
    if (url.pathname.startsWith("/api/v4") && isKnown && token !== TOKEN) return send(answer, 401, { message: "401" });
    if (!found) return send(answer, 404, { message: "404 Not Found" });
    found[2]({ url, body, answer, origin, match: found[1].exec(url.pathname) });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { origin: `http://127.0.0.1:${server.address().port}`, seen, stop: () => server.close() };
}

function read(asked) {
  return new Promise((resolve) => {
    let text = "";
    asked.on("data", (piece) => {
      text += piece;
    });
    asked.on("end", () => resolve(text));
  });
}

function send(answer, status, body, headers = {}) {
  answer.writeHead(status, { "Content-Type": "application/json", ...headers }).end(body && JSON.stringify(body));
}

/** A page of a list, with GitLab's word of where the next one is. */
function sendPage(answer, url, all) {
  const size = Math.min(Number(url.searchParams.get("per_page") ?? 20), PER_PAGE_AT_MOST);
  const page = Number(url.searchParams.get("page") ?? 1);
  const next = page * size < all.length ? String(page + 1) : "";
  send(answer, 200, all.slice((page - 1) * size, page * size), { "X-Next-Page": next });
}

const names = ["shop", "blog", ...Array.from({ length: 60 }, (_, n) => `service-${String(n + 1).padStart(2, "0")}`)];

function gitlab(seen) {
  const project = (origin, name, index) => ({
    path_with_namespace: `team/${name}`,
    http_url_to_repo: `${origin}/team/${name}.git`,
    ssh_url_to_repo: `git@127.0.0.1:team/${name}.git`,
    web_url: `${origin}/team/${name}`,
    default_branch: "main",
    visibility: index % 3 === 0 ? "private" : "public",
  });
  const one = "/api/v4/projects/[^/]+";
  return [
    ["GET", /^\/api\/v4\/user$/, ({ answer }) => send(answer, 200, { username: "ada" })],
    [
      "GET",
      /^\/api\/v4\/projects$/,
      ({ answer, url, origin }) => {
        const search = url.searchParams.get("search") ?? "";
        const all = names.map((name, index) => project(origin, name, index));
        sendPage(
          answer,
          url,
          all.filter(({ path_with_namespace }) => path_with_namespace.includes(search)),
        );
      },
    ],
    [
      "GET",
      new RegExp(`^${one}/repository/branches$`),
      ({ answer, url }) =>
        sendPage(
          answer,
          url,
          ["main", "next", "fix/cart"].map((name) => ({ name, commit: { id: COMMIT } })),
        ),
    ],
    ["GET", new RegExp(`^${one}/hooks$`), ({ answer, url }) => sendPage(answer, url, seen.hooks)],
    [
      "POST",
      new RegExp(`^${one}/hooks$`),
      ({ answer, body }) => {
        const hook = { id: seen.hooks.length + 1, ...JSON.parse(body) };
        seen.hooks.push(hook);
        send(answer, 201, hook);
      },
    ],
    [
      "DELETE",
      new RegExp(`^${one}/hooks/(\\d+)$`),
      ({ answer, match }) => {
        seen.hooks = seen.hooks.filter(({ id }) => id !== Number(match[1]));
        send(answer, 204);
      },
    ],
    [
      "POST",
      new RegExp(`^${one}/deploy_keys$`),
      ({ answer, body }) => {
        seen.keys.push(JSON.parse(body));
        send(answer, 201, { id: seen.keys.length });
      },
    ],
    ["DELETE", new RegExp(`^${one}/deploy_keys/\\d+$`), ({ answer }) => send(answer, 204)],
    [
      "POST",
      new RegExp(`^${one}/statuses/`),
      ({ answer }) => {
        seen.statuses += 1;
        send(answer, 201, { id: seen.statuses });
      },
    ],
  ];
}

/** GitHub Enterprise Server: a person confirms the app, the browser is sent back, and the code is exchanged for the app's key. */
function github() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = privateKey.export({ type: "pkcs1", format: "pem" });
  return [
    [
      "POST",
      /^\/settings\/apps\/new$/,
      ({ answer, url, body }) => {
        const { redirect_url } = JSON.parse(new URLSearchParams(body).get("manifest"));
        const back = `${redirect_url}?code=walk&state=${encodeURIComponent(url.searchParams.get("state"))}`;
        answer
          .writeHead(200, { "Content-Type": "text/html" })
          .end(`<a href="${back.replaceAll("&", "&amp;")}">Create</a>`);
      },
    ],
    [
      "POST",
      /^\/api\/v3\/app-manifests\/[^/]+\/conversions$/,
      ({ answer, origin }) =>
        send(answer, 201, {
          id: 7,
          slug: "windlass-walk",
          name: "Windlass walk",
          client_id: "walk",
          client_secret: "walk",
          pem,
          webhook_secret: "0123456789abcdef0123",
          html_url: `${origin}/apps/windlass-walk`,
        }),
    ],
    [
      "GET",
      /^\/api\/v3\/app(\/installations)?$/,
      ({ answer, match }) => send(answer, 200, match[1] ? [] : { id: 7, slug: "windlass-walk" }),
    ],
    [
      "GET",
      /^\/apps\/windlass-walk/,
      ({ answer }) => answer.writeHead(200, { "Content-Type": "text/html" }).end("<title>Install</title>Install"),
    ],
  ];
}
