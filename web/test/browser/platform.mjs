// What topics stand on: the server with its engine, its people, and applications that are really deployed.
import { request } from "node:http";
import { join } from "node:path";
import { serve } from "../serve.mjs";
import { startMailbox } from "./mailbox.mjs";
import { launch, newContext, newPage } from "./pages.mjs";
import { makeRepository, says } from "./repository.mjs";
import { startServer } from "./server.mjs";
import { until } from "./until.mjs";

export const PASSWORD = "correct horse battery";
export const ROLES = ["viewer", "member", "admin", "owner"];
const FINAL = ["deployed", "failed", "cancelled"];
/**
 * In the engine's own network the port that addresses without one mean is free, so that links to applications can be followed. Each
 * process that runs topics has a loopback address of its own; browsers look for `*.localhost` at the first.
 */
const EDGE = { host: `127.0.0.${1 + Number(process.env.LANE ?? 0)}`, port: 80 };

/** What most applications of the tests are: quick to stop. */
const QUICK = { stop_seconds: 1, drain_seconds: 1 };

export async function startPlatform({ isLong }) {
  const mailbox = await startMailbox();
  const server = await startServer({ edge: `${EDGE.host}:${EDGE.port}`, args: mailbox.args }).catch(async (error) => {
    await mailbox.stop();
    throw error;
  });
  const files = process.env.DIST ? await serve({ api: server.origin }) : null;
  const browser = await launch().catch(async (error) => {
    await server.stop();
    await mailbox.stop();
    throw error;
  });
  const stop = async () => {
    await browser.close().catch(() => {});
    await files?.stop();
    await server.stop();
    await mailbox.stop();
  };
  return new Platform({
    isLong,
    browser,
    stop,
    server,
    mailbox,
    origin: files?.origin ?? server.origin,
    folder: server.folder,
  });
}

class Platform {
  password = PASSWORD;
  #people = new Map();
  #tokens = new Map();

  constructor(parts) {
    Object.assign(this, parts);
  }

  /** A request with the login of a role, the owner's unless told. The whole answer. */
  async ask(verb, path, body, { role = "owner", headers = {} } = {}) {
    if (!this.#tokens.has(role)) this.#tokens.set(role, this.#logIn(role));
    const answer = await fetch(`${this.server.origin}/api/v1${path}`, {
      method: verb,
      headers: { Authorization: `Bearer ${await this.#tokens.get(role)}`, ...headers },
      body: body && JSON.stringify(body),
    });
    return { ...(await answer.json()), status: answer.status };
  }

  /** The same, expecting success. */
  async api(verb, path, body, options) {
    const answer = await this.ask(verb, path, body, options);
    if (answer.status !== 200) throw new Error(`${verb} ${path}: ${answer.status} ${answer.message}`);
    return answer.data;
  }

  async #logIn(role) {
    const { email } = await this.person(role);
    return (await this.#open("/auth/login", { email, password: PASSWORD })).access_token;
  }

  async #open(path, body) {
    const answer = await fetch(`${this.server.origin}/api/v1${path}`, { method: "POST", body: JSON.stringify(body) });
    const { data, message } = await answer.json();
    if (!answer.ok) throw new Error(`POST ${path}: ${message}`);
    return data;
  }

  /**
   * A person in the first organization, registered if there is none yet: of each role one is called by it, and the owner is Ada. Any other
   * name is a viewer, for a topic that changes the account.
   */
  person(role) {
    if (!this.#people.has(role)) this.#people.set(role, this.#register(role));
    return this.#people.get(role);
  }

  async #register(role) {
    if (role === "owner") {
      const ada = { email: "ada@example.org", username: "Ada" };
      const { admin_registered } = await fetch(`${this.server.origin}/api/v1/auth/is-admin-registered`)
        .then((answer) => answer.json())
        .then(({ data }) => data);
      if (!admin_registered) await this.#open("/auth/register", { ...ada, password: PASSWORD });
      return ada;
    }
    const person = { email: `${role}@example.org`, username: `Grace the ${role}` };
    const invitation = { email: person.email, role: ROLES.includes(role) ? role : "viewer" };
    const { token } = await this.api("POST", "/organizations/invite/send", invitation);
    await this.#open("/auth/register", { ...person, password: PASSWORD, token });
    return person;
  }

  /** A browser of its own in which this role is logged in. */
  async context(role, options = {}) {
    const { email } = await this.person(role);
    const context = await newContext(this.browser, options);
    const headers = { "X-Windlass-Client": "browser", ...(options.userAgent && { "User-Agent": options.userAgent }) };
    const answer = await context.request.post(`${this.origin}/api/v1/auth/login`, {
      headers,
      data: { email, password: PASSWORD },
    });
    if (!answer.ok()) throw new Error(`${email} cannot log in: ${await answer.text()}`);
    return context;
  }

  async page(role, options) {
    return newPage(await this.context(role, options));
  }

  repository(name, files = says(`This is ${name}`), options = {}) {
    return makeRepository(join(this.folder, "repositories", name), files, options);
  }

  /** Creates an application and waits for the end of its first deployment. */
  async deploy(name, { repository = this.repository(name), ...fields } = {}) {
    const made = await this.api("POST", "/deploy/application", {
      name,
      repository: repository.path,
      ...QUICK,
      ...fields,
    });
    const deployment = await this.ended(made.deployments[0].id);
    return { id: made.id, name, domain: made.domain, repository, deployment };
  }

  /** Another deployment of the newest commit, at its end. */
  async redeploy(application) {
    const { id } = await this.api("POST", "/deploy/application/redeploy", { id: application.id });
    return this.ended(id);
  }

  async ended(id) {
    return until("the deployment ends", async () => {
      const deployment = await this.api("GET", `/deploy/application/deployments/${id}`);
      return FINAL.includes(deployment.status.status) && deployment;
    });
  }

  /** What a visitor of this host gets. */
  async visit(host, path = "/") {
    const { status, text } = await this.answerFor(host, { path });
    return { status, text };
  }

  /** The same with the answer's headers, for a visitor who sends some. */
  answerFor(host, { path = "/", headers = {} } = {}) {
    return new Promise((resolve, reject) => {
      const asked = request({ ...EDGE, path, headers: { host, ...headers }, timeout: 10_000 }, (answer) => {
        let text = "";
        answer.on("data", (part) => {
          text += part;
        });
        answer.on("end", () => resolve({ status: answer.statusCode, text: text.trim(), headers: answer.headers }));
      });
      asked.on("timeout", () => asked.destroy(new Error(`${host} does not answer`)));
      asked.on("error", reject);
      asked.end();
    });
  }
}
