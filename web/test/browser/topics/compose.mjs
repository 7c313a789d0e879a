// The services of a compose file: looked at before they are deployed, deployed by the form, and one of them with a domain of its own.
import assert from "node:assert/strict";
import { look } from "../look.mjs";
import { says } from "../repository.mjs";
import { until } from "../until.mjs";

const COMPOSE = `services:
  web:
    build: .
    ports: ["80:8080"]
    depends_on: [notes]
  notes:
    build: ./notes
    expose: [8080]
    volumes: ["data:/data"]
volumes:
  data:
`;
const HOST = "notes.bundle.localhost";

export default async function compose(platform) {
  const notes = Object.entries(says("These are notes")).map(([name, text]) => [`notes/${name}`, text]);
  const files = { ...says("This is web"), ...Object.fromEntries(notes), "compose.yaml": COMPOSE };
  const address = platform.repository("bundle", files).path;
  const page = await platform.page("member");
  await page.goto(`${platform.origin}/applications/new`);
  await page.getByLabel("Repository", { exact: true }).fill(address);
  await page.getByLabel("Built by").selectOption("docker-compose");
  await page.getByRole("button", { name: "Look at the repository" }).click();
  const services = page.getByRole("list", { name: "compose.yaml" });
  await services.getByText("volume data").waitFor();
  await services.getByText("visitors, port 8080").waitFor();
  assert.deepEqual(await services.locator("strong").allTextContents(), ["notes", "web"], "not in the order of starts");
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await look(page, "build-plan-compose");

  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.waitForURL("**/deployments/*");
  await page.getByText("web: running").waitFor({ timeout: 120_000 });
  await page.getByText("notes: running").waitFor();
  await look(page, "deployment-compose");
  assert.match((await platform.visit("bundle.localhost")).text, /This is web/);

  const [, id] = /applications\/([^/]+)/.exec(page.url());
  await addDomain(page, `${platform.origin}/applications/${id}/domains`);
  // The edge is told a moment after the answer.
  await until("the domain leads to the service", async () =>
    (await platform.visit(HOST)).text.includes("These are notes"),
  );
  await page.getByRole("link", { name: "Volumes", exact: true }).click();
  await page.getByText("from the compose file").waitFor();
  await platform.api("DELETE", "/deploy/application", { id, name: "bundle", volumes: ["data"] });
}

async function addDomain(page, address) {
  await page.goto(address);
  await page.getByRole("button", { name: "Add domain" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Domain").fill(HOST);
  await dialog.getByLabel("Service").fill("notes");
  await look(page, "domain-add-service");
  await dialog.getByRole("button", { name: "Add domain" }).click();
  const row = page.getByRole("table", { name: "Domains" }).getByRole("row").filter({ hasText: HOST });
  await row.getByText("notes", { exact: true }).waitFor();
}
