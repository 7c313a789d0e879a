// Fills the first organization with one of everything that views show, made by the real API and the real engine.
import { join } from "node:path";
import { certificateFor } from "./certificate.mjs";
import { startCodeHost } from "./codehost.mjs";
import { deliver, pullRequestOf, pushOf } from "./deliveries.mjs";
import { startReceiver } from "./receiver.mjs";
import { dockerfile } from "./repository.mjs";
import { until } from "./until.mjs";

const PRIVATE = "engines/blog";
const VOLUME = "data";
export const UPLOADED = "handbook";
/** The application that is made of an extension. */
export const TAKEN = "taken";
export const PULL_REQUEST = 7;

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** A page, and a line that it prints when it starts. */
const files = (words, version, ...lines) => ({
  Dockerfile: dockerfile("COPY start.sh /start.sh", ...lines).replace(/CMD .*/, 'CMD ["sh", "/start.sh"]'),
  "start.sh": `echo ${quoted(words.line)}\nexec httpd -f -p 8080 -h /www\n`,
  "www/index.html": `${version}\n`,
});

/** What addresses of views are made of. */
export async function furnish(platform, words) {
  const codeHost = await startCodeHost({
    account: words.account,
    repositories: [words.repository, PRIVATE],
    branches: [words.branch, "next"],
    page: words.repositoryPage,
    folder: join(platform.folder, "repositories"),
  });
  await people(platform, words);
  const connection = await connect(platform, words, codeHost);
  const receiver = await channels(platform, words);
  await platform.api("POST", "/certificates", certificateFor("furnished.example.org", words.issuer));
  const places = await applications(platform, words, codeHost, connection);
  await statusPage(platform, words, places.application);
  return {
    connection,
    ...places,
    ...(await extensions(platform, words)),
    notice: await refusedNotice(platform),
    stop: () => Promise.all([codeHost.stop(), receiver.stop()]),
  };
}

/** One that takes what it is told, one that refuses it, and mail. */
async function channels(platform, words) {
  const receiver = await startReceiver();
  receiver.says("/refuses", 400, words.refusal);
  const at = (type, path) =>
    platform.api("PUT", "/notification/webhook", { type, webhook_url: receiver.origin + path });
  await at("webhook", "/takes");
  await at("discord", "/refuses");
  await platform.api("POST", "/notification/smtp", {
    host: "127.0.0.1",
    port: platform.mailbox.port,
    security: "none",
    from_email: "ops@example.org",
    from_name: words.mailFrom,
  });
  return receiver;
}

/** Read by the public. */
async function statusPage(platform, words, application_id) {
  const { id } = await platform.api("GET", "/organizations");
  await platform.api("PUT", `/organizations/${id}/status-page`, {
    enabled: true,
    title: words.pageTitle,
    domain: "status.example.org",
    applications: [{ application_id, name: words.publicName }],
  });
}

/** The message of an application's failed deployment, which its receiver has refused. */
function refusedNotice(platform) {
  return until("a notice is refused", async () => {
    const { notices } = await platform.api("GET", "/notification/notices?channel=discord&state=failed&limit=100");
    return notices.find(({ event }) => event === "deployment.failed")?.id;
  });
}

async function people(platform, words) {
  await platform.api("PUT", "/organizations", { name: words.organization, description: words.description });
  await platform.api("PATCH", "/user/name", { name: words.user });
  await platform.api("POST", "/organizations/invite/send", { email: words.invitation, role: "member" });
  await platform.api("PUT", "/variables/shared", { variables: { [words.variable]: words.value } });
  await platform.api("POST", "/auth/api-keys", { name: words.key, permissions: ["deploy:read", "deploy:create"] });
  await logInAs(platform, words.agent);
}

async function logInAs(platform, agent) {
  const { email } = await platform.person("owner");
  const answer = await fetch(`${platform.server.origin}/api/v1/auth/login`, {
    method: "POST",
    headers: { "User-Agent": agent },
    body: JSON.stringify({ email, password: platform.password }),
  });
  if (!answer.ok) throw new Error(`${email} cannot log in with ${agent}`);
}

/**
 * One that a push has deployed, whose next build failed, with a preview, a volume, a second domain and rules for its visitors; one
 * whose repository takes a key; and one that takes uploads.
 */
async function applications(platform, words, codeHost, connection_id) {
  const shape = codeHost.shapeOf(words.repository);
  const repository = platform.repository(`${words.repository}.git`, files(words, "one"), {
    message: "First version",
    author: words.author,
    branch: words.branch,
  });
  const application = await platform.deploy(words.application, {
    repository: { path: shape.clone_url },
    connection_id,
    branch: words.branch,
    environment_variables: { [words.variable]: words.value },
    previews: true,
    preview_variables: { [words.variable]: words.value },
    volumes: [{ name: VOLUME, path: words.path, shared: true, after_snapshot: words.command }],
  });
  const pushed = await push(platform, words, application, { repository, shape });
  await otherDeliveries(platform, words, application, shape);
  await snapshots(platform, words, application);
  const run = await commands(platform, words, application);
  await uptime(platform, application);
  const added = { domain: words.domain, path: "/api", redirect: "permanent" };
  await platform.api("POST", `/deploy/application/${application.id}/domains`, added);
  await rules(platform, words, application);
  const preview = await openAPullRequest(platform, words, application, { repository, shape });
  repository.commit(files(words, "three", `RUN echo ${quoted(words.error)} && exit 3`), "Try something");
  const failed = await platform.redeploy(application);
  await platform.api("PUT", `/deploy/application/labels?id=${application.id}`, { labels: [words.label] });
  const keyed = await deployKey(platform, words, codeHost.shapeOf(PRIVATE), connection_id);
  const { id: uploaded } = await platform.api("POST", "/deploy/application", { name: UPLOADED, repository: "push" });
  return { application: application.id, ...pushed, failed: failed.id, volume: VOLUME, run, preview, keyed, uploaded };
}

/** The delivery of a push to its branch, and the deployment that it has caused. */
async function push(platform, words, application, { repository, shape }) {
  const hash = repository.commit(files(words, "two"), words.commit);
  await deliver(platform, application, pushOf(words, shape, hash));
  const { deliveries } = await platform.api("GET", `/deploy/application/${application.id}/deliveries`);
  const [{ id, deployment_id, reason }] = deliveries;
  if (!deployment_id) throw new Error(`the push deploys nothing: ${reason}`);
  const { status } = await platform.ended(deployment_id);
  if (status.status !== "deployed") throw new Error(`the push is not deployed: ${status.status}`);
  return { delivery: id, deployed: deployment_id };
}

/** One of an event that deploys nothing, and one that is not signed with the application's secret. */
async function otherDeliveries(platform, words, application, repository) {
  const sent = { event: words.event, agent: words.agent, repository, sender: { login: words.sender } };
  await deliver(platform, application, sent);
  const { status } = await deliver(platform, application, { ...sent, secret: "not the application's" });
  if (status !== 401) throw new Error(`a delivery without the right signature is answered ${status}`);
}

/** A run that has printed something, whose id is told, and a schedule that comes once a year. */
async function commands(platform, words, application) {
  const path = `/deploy/application/${application.id}`;
  const body = { command: `echo ${quoted(words.line)}; ${words.command}` };
  const { id } = await platform.api("POST", `${path}/runs`, body);
  await until("the command has ended", async () => {
    const { status } = await platform.api("GET", `/deploy/runs/${id}`);
    return status === "succeeded";
  });
  await platform.api("POST", `${path}/schedules`, { name: words.schedule, cron: "@yearly", command: words.command });
  return id;
}

/** It has answered a check. It is asked again only if one came at a time in which it was not meant to answer. */
async function uptime(platform, application) {
  const path = `/deploy/application/${application.id}/uptime`;
  const ask = () => platform.api("PUT", path, { interval_seconds: 3600 });
  let { last_check_at: seen } = await ask();
  const isUp = async () => {
    const { state, last_check_at } = await platform.api("GET", path);
    if (state !== "up" && last_check_at !== seen) await ask();
    seen = last_check_at;
    return state === "up";
  };
  await until("the application is found to be up", isUp, 60);
}

/** One that is written, and one that a command of the user prevents. */
async function snapshots(platform, words, application) {
  const volume = `/deploy/application/${application.id}/volumes/${VOLUME}`;
  await snapshotThatEnds(platform, volume, "ready");
  await platform.api("PUT", volume, { before_snapshot: `echo ${quoted(words.outcry)}; exit 3` });
  await snapshotThatEnds(platform, volume, "failed");
}

async function snapshotThatEnds(platform, volume, wanted) {
  const { id } = await platform.api("POST", `${volume}/snapshots`);
  await until(`the snapshot is ${wanted}`, async () => {
    const { snapshots: all } = await platform.api("GET", `${volume}/snapshots`);
    return all.some((one) => one.id === id && one.state === wanted);
  });
}

/** What its visitors meet before it. */
async function rules(platform, words, application) {
  await platform.api("PUT", `/deploy/application/${application.id}/access`, {
    deny: ["192.0.2.0/24", "2001:db8::/32"],
    users: { [words.visitor]: platform.password },
    realm: words.realm,
    requests_per_minute: 600,
    body_bytes: 10 * 1024 * 1024,
    headers: { "x-robots-tag": words.header, server: "" },
    pages: { 503: words.html },
  });
}

/** The id of its preview, which serves. */
async function openAPullRequest(platform, words, application, { repository, shape }) {
  const hash = repository.commit(files(words, "gifts"), words.commit, words.pullBranch);
  const { message } = await deliver(platform, application, pullRequestOf(words, shape, PULL_REQUEST, hash));
  const { previews } = await platform.api("GET", `/deploy/application/${application.id}/previews`);
  if (previews.length !== 1) throw new Error(`the pull request has no preview: ${message}`);
  const { status } = await platform.ended(previews[0].deployment_id);
  if (status.status !== "deployed") throw new Error(`the preview is not deployed: ${status.status}`);
  return previews[0].id;
}

/** Nothing listens to ssh: its deployment fails, and its key is there all the same. */
async function deployKey(platform, words, { ssh_url }, connection_id) {
  const { id } = await platform.deploy(words.keyed, { repository: { path: ssh_url }, connection_id });
  await platform.api("POST", `/deploy/application/${id}/deploy-key`);
  return id;
}

const extensionText = (words, { key = "furnished", greeting = words.greeting, more = "" } = {}) => `
metadata:
  id: ${key}
  name: ${JSON.stringify(words.extension)}
  description: ${JSON.stringify(words.description)}
  author: ${JSON.stringify(words.author)}
  category: Utility
  type: install
  version: "1.0.0"
variables:
  greeting: { type: string, default: ${JSON.stringify(greeting)}, description: ${JSON.stringify(words.description)} }
execution:
  run:
    - name: ${JSON.stringify(words.extension)}
      type: docker_compose
      properties:
        action: up
        compose:
          services:
            page:
              image: busybox:1
              environment: { GREETING: "{{ greeting }}" }
              command: ["sh", "-c", "echo \\"$$GREETING\\"; mkdir /www; exec httpd -f -p 8080 -h /www"]${more}
`;

/** What only an extension with visitors has, of which applications can be made. */
const VISITED = `
    - { name: Lead visitors there, type: proxy, properties: { action: add, domain: visited.localhost, service: page, port: 8080 } }`;

async function extensions(platform, words) {
  const { id: extension } = await platform.api("POST", "/extensions", { yaml_content: extensionText(words) });
  const { id: execution } = await platform.api("POST", `/extensions/${extension}/run`, { variables: {} });
  await until("the extension is installed", async () => {
    const { status } = await platform.api("GET", `/extensions/execution/${execution}`);
    return status === "completed";
  });
  const { installations } = await platform.api("GET", "/extensions/installations");
  const { extension_id: fork } = await platform.api("POST", `/extensions/${extension}/fork`, {});
  // From now on there is something newer, for what is installed and for the fork.
  const newer = extensionText(words, { greeting: `${words.greeting}, again` });
  await platform.api("PUT", `/extensions/${extension}`, { yaml_content: newer });
  const taken = await extensionAsApplication(platform, words);
  return { extension: "furnished", execution, installation: installations[0].id, taken, fork };
}

/** The id of an application that is made of the extension `visited`, which has a newer version. */
async function extensionAsApplication(platform, words) {
  const text = { key: "visited", more: VISITED };
  await platform.api("POST", "/extensions", { yaml_content: extensionText(words, text) });
  const { id, deployments } = await platform.api("POST", "/extensions/visited/application", { name: TAKEN });
  await platform.ended(deployments[0].id);
  const newer = extensionText(words, { ...text, greeting: `${words.greeting}, again` });
  await platform.api("PUT", "/extensions/visited", { yaml_content: newer });
  return id;
}

async function connect(platform, words, codeHost) {
  const body = { name: words.connection, host: "gitea", base_url: codeHost.origin, token: "a-token" };
  const login = { host: "registry.example.org", username: words.connection, password: "a-token" };
  await platform.api("POST", "/registry-credentials", login);
  return (await platform.api("POST", "/connections", body)).id;
}
