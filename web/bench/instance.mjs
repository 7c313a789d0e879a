// A server without an engine that holds some applications, and a browser that is logged in there.
import { newContext } from "../test/browser/pages.mjs";
import { startServer } from "../test/browser/server.mjs";

const ADA = { email: "ada@example.org", password: "correct horse battery" };

export async function startWith(applications) {
  const server = await startServer({ args: ["--docker-socket", "/nowhere"] });
  const { access_token } = await post(server, "/auth/register", { ...ADA, username: "Ada" });
  const made = [];
  for (let number = 1; number <= applications; number += 1) {
    made.push(await post(server, "/deploy/application", application(number), access_token));
  }
  return { ...server, applications, application: made[0].id };
}

const application = (number) => ({
  name: `application-${String(number).padStart(3, "0")}`,
  repository: "https://git.example.org/team/shop.git",
  environment_variables: { GREETING: "hello" },
  volumes: [{ name: "data", path: "/data" }],
});

async function post({ origin }, path, body, token) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const answer = await fetch(`${origin}/api/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const { data, message } = await answer.json();
  if (!answer.ok) throw new Error(`POST ${path}: ${message}`);
  return data;
}

/** A browser's profile of its own, with an empty cache. */
export async function loggedIn(browser, { origin }) {
  const context = await newContext(browser);
  const headers = { "X-Windlass-Client": "browser" };
  const answer = await context.request.post(`${origin}/api/v1/auth/login`, { headers, data: ADA });
  if (!answer.ok()) throw new Error(`cannot log in: ${await answer.text()}`);
  return context;
}
