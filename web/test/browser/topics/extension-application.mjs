// An application that is made from an extension: its form, and the newer version that it is offered.
import assert from "node:assert/strict";
import { look } from "../look.mjs";

const KEY = "gazette";

const textOf = (version, greeting) => `
metadata:
  id: ${KEY}
  name: Gazette
  description: A page with a greeting.
  author: Ada
  category: Utility
  type: install
  version: "${version}"
variables:
  domain: { type: string, is_required: true, description: Where it is read }
  greeting: { type: string, default: ${greeting}, description: What it says }
  token: { type: secret }
execution:
  run:
    - name: Start it
      type: docker_compose
      properties:
        action: up
        compose:
          services:
            page:
              image: busybox:1
              environment: { GREETING: "{{ greeting }}", TOKEN: "{{ token }}" }
              command: ["sh", "-c", "mkdir /www; echo $$GREETING > /www/index.html; exec httpd -f -p 8080 -h /www"]
    - name: Lead readers there
      type: proxy
      properties: { action: add, domain: "{{ domain }}", service: page, port: 8080 }
`;

export default async function extensionApplication(platform) {
  await platform.api("POST", "/extensions", { yaml_content: textOf("1.0.0", "Good morning") });
  const page = await platform.page("member");
  const id = await make(platform, page);
  await platform.api("PUT", `/extensions/${KEY}`, { yaml_content: textOf("1.1.0", "Good day") });
  await lookAsAViewer(platform, id);
  await takeTheNewerVersion(platform, page, id);
  await platform.api("DELETE", "/deploy/application", { id, name: KEY });
}

async function make(platform, page) {
  await page.goto(`${platform.origin}/extensions/${KEY}`);
  await page.getByRole("link", { name: "As an application", exact: true }).click();
  await page.getByRole("heading", { name: "Make an application" }).waitFor();
  assert.equal(await page.getByRole("textbox", { name: /^Domain/ }).count(), 1, "the domain is asked for once");
  await page.getByRole("textbox", { name: /^Domain/ }).fill("not a domain");
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.locator("[aria-invalid=true]").waitFor();
  await page.getByRole("textbox", { name: /^Domain/ }).fill("gazette.localhost");
  await look(page, "extension-application");
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.waitForURL("**/deployments/*");
  const [, id, deployment] = /applications\/([^/]+)\/deployments\/([^/]+)/.exec(page.url());
  assert.equal((await platform.ended(deployment)).status.status, "deployed");
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  assert.equal(await page.getByRole("link", { name: "Previews", exact: true }).count(), 0, "an extension has previews");
  await page.getByRole("link", { name: "What it is made of" }).click();
  await page.getByText("It has the newest text of the extension.").waitFor();
  return id;
}

async function lookAsAViewer(platform, id) {
  const page = await platform.page("viewer");
  await page.goto(`${platform.origin}/applications/${id}/extension`);
  await page.getByText("Members of this organization can take the newer version").waitFor();
  await page.getByText("variables.greeting.default", { exact: true }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Take the newer version" }).count(), 0, "a viewer can take it");
}

async function takeTheNewerVersion(platform, page, id) {
  await page.goto(`${platform.origin}/applications/${id}/extension`);
  await page.getByRole("heading", { name: "Changed by the author (2)" }).waitFor();
  await look(page, "extension-application-offer");
  await page.getByRole("button", { name: "Take the newer version" }).click();
  await page.waitForURL("**/deployments/*");
  const { status } = await platform.ended(page.url().split("/").pop());
  assert.equal(status.status, "deployed");
  const source = await platform.api("GET", `/deploy/application/${id}/extension`);
  assert.deepEqual([source.version, source.has_update], ["1.1.0", false]);
}
