// A site: how it is asked for in the settings, and that it is shown to need no container.
import assert from "node:assert/strict";
import { look } from "../look.mjs";

export default async function sites(platform) {
  const files = { "index.html": "<h1>First page</h1>", "docs/index.html": "<h1>Documents</h1>" };
  const application = await platform.deploy("pages", { repository: platform.repository("pages", files) });
  assert.equal(application.deployment.artifact, "site");
  const page = await platform.page("member");
  await page.goto(`${platform.origin}/applications/${application.id}`);
  await page.getByText("none: its files are served without a container").waitFor();
  await look(page, "overview-site");
  await askForAFolder(page);
  await platform.redeploy(application);
  assert.equal((await platform.visit("pages.localhost", "/anything")).text, "<h1>Documents</h1>");
  await page.getByRole("link", { name: "Deployments", exact: true }).click();
  await page.getByRole("table").getByRole("link").first().click();
  await page.getByText("none: its files are served without a container").waitFor();
  await page.getByText("Made a site").waitFor();
  await look(page, "deployment-site");
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: "pages" });
}

/** Another folder, as a single page. What cannot be is said at its field. */
async function askForAFolder(page) {
  await page.getByRole("link", { name: "Settings", exact: true }).click();
  await page.getByLabel("Built by").selectOption("static");
  await page.getByLabel("Folder", { exact: true }).fill("/docs");
  await page.getByLabel("A site answers unknown paths").check();
  await page.getByLabel("Written in").selectOption("node");
  await page.getByLabel("Version of the language").fill("newest");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("[aria-invalid=true]").waitFor();
  const version = page.getByLabel("Version of the language");
  assert.equal(await version.getAttribute("aria-invalid"), "true", "the problem is elsewhere");
  await look(page, "settings-building");
  await version.fill("");
  await page.getByLabel("Written in").selectOption("");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("These changes wait for the next deployment").waitFor();
}
