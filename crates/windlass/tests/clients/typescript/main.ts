// Registers, founds an organization, deploys and reads logs with the client that openapi-typescript generated.
//   node compiled/main.js SERVER REPOSITORY

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type DeploymentState = components["schemas"]["DeploymentState"];

const DEADLINE_MS = 120_000;
const [server = "", repository = ""] = process.argv.slice(2);
if (!repository) throw new Error("usage: main.js SERVER REPOSITORY");

const api = createClient<paths>({ baseUrl: server });

/** The data of an answer, or an error that says what the server said. */
function data<T>(answer: { data?: { data: T }; error?: Pick<components["schemas"]["Failure"], "error" | "message"> }): T {
  if (answer.error) throw new Error(`${answer.error.error}: ${answer.error.message}`);
  if (!answer.data) throw new Error("neither data nor an error");
  return answer.data.data;
}

async function register(): Promise<string> {
  const body = { email: "typescript@example.org", password: "correct horse battery", username: "TypeScript" };
  return data(await api.POST("/api/v1/auth/register", { body })).access_token;
}

async function deploy(organization: string): Promise<{ application: string; deployment: string }> {
  const application = data(
    await api.POST("/api/v1/deploy/application", {
      params: { header: { "X-Organization-Id": organization, "Idempotency-Key": "once" } },
      body: { name: "typescript", repository, build_pack: "dockerfile", environment_variables: { GREETING: "hello" } },
    }),
  );
  const newest = application.deployments[0];
  if (!newest) throw new Error("an application without a deployment");
  return { application: application.id, deployment: newest.id };
}

async function state(organization: string, deployment: string): Promise<DeploymentState> {
  const record = data(
    await api.GET("/api/v1/deploy/application/deployments/{deployment_id}", {
      params: { path: { deployment_id: deployment }, header: { "X-Organization-Id": organization } },
    }),
  );
  if (!("status" in record.status)) throw new Error("a deployment without a status");
  if (record.failure) throw new Error(`${record.failure}: ${record.reason}`);
  return record.status.status;
}

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`did not happen in time: ${what}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

async function logs(organization: string, application: string): Promise<components["schemas"]["ApplicationLog"][]> {
  const page = data(
    await api.GET("/api/v1/deploy/application/logs/{application_id}", {
      params: {
        path: { application_id: application },
        query: { stream: ["windlass"], page_size: 50, relations: "none" },
        header: { "X-Organization-Id": organization },
      },
    }),
  );
  return page.logs;
}

/** What is refused comes back as a failure with one of the known codes. */
async function refusedCode(): Promise<components["schemas"]["ErrorCode"] | undefined> {
  const answer = await api.PATCH("/api/v1/user/settings/theme", { body: { theme: "Not A Theme" } });
  return answer.error?.error;
}

const token = await register();
api.use({
  onRequest({ request }) {
    request.headers.set("Authorization", `Bearer ${token}`);
    return request;
  },
});
const organization = data(await api.POST("/api/v1/organizations", { body: { name: "TypeScript" } })).id;
const { application, deployment } = await deploy(organization);
await until("the deployment ends", async () => (await state(organization, deployment)) === "deployed" || undefined);
// The last line is stored a moment after the deployment says that it is deployed.
const lines = await until("the last line is stored", async () => {
  const lines = await logs(organization, application);
  return lines.some((line) => line.step === "switch") ? lines : undefined;
});
for (const line of lines) console.log(`${line.step}: ${line.log}`);
console.log(`refused: ${await refusedCode()}`);
