// Fills the first organization with one of everything that views show, made by the real API and the real engine.
import { request } from "node:http";
import { startCodeHost } from "./codehost.mjs";
import { dockerfile } from "./repository.mjs";
import { until } from "./until.mjs";

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
    repositories: [words.repository, "engines/blog"],
    branches: [words.branch, "next"],
  });
  await people(platform, words);
  const place = {
    ...(await applications(platform, words)),
    ...(await extensions(platform, words)),
    connection: await connect(platform, words, codeHost),
    stop: codeHost.stop,
  };
  return place;
}

async function people(platform, words) {
  await platform.api("PUT", "/organizations", { name: words.organization, description: words.description });
  await platform.api("PATCH", "/user/name", { name: words.user });
  await platform.api("POST", "/organizations/invite/send", { email: words.invitation, role: "member" });
  await platform.api("POST", "/auth/api-keys", { name: words.key, permissions: ["deploy:read", "deploy:create"] });
  await logInAs(platform, words.agent);
}

/** Not by `fetch`, which says of itself who it is. */
async function logInAs(platform, agent) {
  const { email, password } = await platform.person("owner").then((ada) => ({ ...ada, password: platform.password }));
  await new Promise((resolve, reject) => {
    const asked = request(`${platform.server.origin}/api/v1/auth/login`, {
      method: "POST",
      headers: { "User-Agent": agent },
    });
    asked.on("response", (answer) => answer.resume().on("end", resolve));
    asked.on("error", reject);
    asked.end(JSON.stringify({ email, password }));
  });
}

/** One that runs, was deployed twice and then failed to build, and a second one that is stopped. */
async function applications(platform, words) {
  const { commit: message, author, branch } = words;
  const repository = platform.repository("shop", files(words, "one"), {
    message: "First version",
    author,
    branch,
  });
  const fields = { repository, branch, environment_variables: { [words.variable]: words.value } };
  const application = await platform.deploy(words.application, fields);
  repository.commit(files(words, "two"), message);
  const deployed = await platform.redeploy(application);
  repository.commit(files(words, "three", `RUN echo ${quoted(words.error)} && exit 3`), "Try something");
  const failed = await platform.redeploy(application);
  await platform.api("PUT", `/deploy/application/labels?id=${application.id}`, { labels: [words.label] });
  return { application: application.id, deployed: deployed.id, failed: failed.id };
}

const extensionText = (words) => `
metadata:
  id: furnished
  name: ${JSON.stringify(words.extension)}
  description: ${JSON.stringify(words.description)}
  author: ${JSON.stringify(words.author)}
  category: Utility
  type: install
  version: "1.0.0"
variables:
  greeting: { type: string, default: ${JSON.stringify(words.greeting)}, description: ${JSON.stringify(words.description)} }
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
              command: ["sh", "-c", "echo \\"$$GREETING\\"; mkdir /www; exec httpd -f -p 8080 -h /www"]
`;

async function extensions(platform, words) {
  const { id: extension } = await platform.api("POST", "/extensions", { yaml_content: extensionText(words) });
  const { id: execution } = await platform.api("POST", `/extensions/${extension}/run`, { variables: {} });
  await until("the extension is installed", async () => {
    const { status } = await platform.api("GET", `/extensions/execution/${execution}`);
    return status === "completed";
  });
  const { installations } = await platform.api("GET", "/extensions/installations");
  return { extension: "furnished", execution, installation: installations[0].id };
}

async function connect(platform, words, codeHost) {
  const body = { name: words.connection, host: "gitea", base_url: codeHost.origin, token: "a-token" };
  return (await platform.api("POST", "/connections", body)).id;
}
