// A second domain is added, refused where it must be, set up, looked up in DNS and removed again.
import assert from "node:assert/strict";
import { look } from "../look.mjs";

const MAIN = "second.localhost";
const HOST = "www.example.org";

export default async function domains(platform) {
  const application = await platform.deploy("second");
  const page = await platform.page("member");
  await page.goto(`${platform.origin}/applications/${application.id}`);
  await page.getByRole("link", { name: "Domains", exact: true }).click();
  const table = page.getByRole("table", { name: "Domains" });
  const main = table.getByRole("row").filter({ hasText: MAIN });
  await main.getByText("main", { exact: true }).waitFor();
  assert.equal(await main.getByRole("button", { name: "Remove" }).count(), 0, "the main domain can be removed");

  await add(page);
  const row = table.getByRole("row").filter({ hasText: HOST });
  await row.getByText("sent to the main domain (permanently)").waitFor();
  await look(page, "domains-two");
  await turnHttpsOnlyOff(platform, page, row);
  await check(page, row);
  await showInOrganization(platform, page, application);
  await remove(page, row);
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: "second" });
}

async function add(page) {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Add domain" }).click();
  assert.equal(await dialog.getByLabel("Path").inputValue(), "/", "the default path is not everything");
  await dialog.getByLabel("Domain").fill(MAIN);
  await dialog.getByLabel("What visitors get").selectOption("permanent");
  await dialog.getByRole("button", { name: "Add domain" }).click();
  // It is taken: a refusal with a code of its own stands at the field too.
  await page.locator("[aria-invalid=true]").waitFor();
  assert.equal(await dialog.getByLabel("Domain").getAttribute("aria-invalid"), "true", "the problem is elsewhere");
  await look(page, "domain-add");
  await dialog.getByLabel("Domain").fill(HOST);
  await dialog.getByRole("button", { name: "Add domain" }).click();
  await page.getByText(`${HOST} is added.`).waitFor();
}

async function turnHttpsOnlyOff(platform, page, row) {
  const dialog = page.getByRole("dialog");
  await row.getByRole("button", { name: `Set up: ${HOST}` }).click();
  await look(page, "domain-set-up");
  await dialog.getByLabel("https only").uncheck();
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const { domains: all } = await platform.api("GET", "/domains");
  assert.equal(
    all.find(({ domain }) => domain === HOST).https_only,
    false,
    "visitors over http are still sent to https",
  );
  await row.getByRole("button", { name: `Set up: ${HOST}` }).click();
  assert.equal(await dialog.getByLabel("https only").isChecked(), false, "it is not shown what was stored");
  await dialog.getByRole("button", { name: "Cancel" }).click();
}

/** DNS may not answer here. What the record would be is known without it. */
async function check(page, row) {
  const dialog = page.getByRole("dialog");
  await row.getByRole("button", { name: `Check: ${HOST}` }).click();
  await dialog.getByText(`_windlass.${HOST}`, { exact: true }).waitFor();
  await look(page, "domain-check");
  await dialog.getByRole("button", { name: "Check again" }).click();
  await dialog.getByText(`_windlass.${HOST}`, { exact: true }).waitFor();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await dialog.waitFor({ state: "detached" });
}

/** All domains are listed there, and lead back to where they are set up. */
async function showInOrganization(platform, page, { id }) {
  await page.goto(`${platform.origin}/organization/certificates`);
  await page.getByRole("table", { name: "Domains" }).getByRole("link", { name: HOST }).click();
  await page.waitForURL(`**/applications/${id}/domains`);
}

async function remove(page, row) {
  const dialog = page.getByRole("dialog");
  await row.getByRole("button", { name: `Remove: ${HOST}` }).click();
  await dialog.getByText("Its other domains stay.").waitFor();
  await look(page, "domain-remove");
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.getByText(`${HOST} is removed.`).waitFor();
  await row.waitFor({ state: "detached" });
}
