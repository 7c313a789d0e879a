// Forms of an application: variables as text, and what the server refuses, at the field that it is about.
import assert from "node:assert/strict";
import { look } from "../look.mjs";

const SECRET = "s".repeat(12);

export default async function forms(platform) {
  const environment_variables = { GREETING: "hello", API_KEY: SECRET };
  const application = await platform.deploy("forms", { environment_variables, secret_names: ["API_KEY"] });
  const page = await platform.page("member");
  await page.goto(`${platform.origin}/applications/${application.id}/variables`);
  await editVariables(page);
  const { environment_variables: stored } = await platform.api("GET", `/deploy/application?id=${application.id}`);
  assert.deepEqual(Object.keys(JSON.parse(stored)).sort(), ["ADDED_TOKEN", "API_KEY", "GREETING"]);
  await page.getByRole("link", { name: "Settings" }).click();
  await showAFieldsProblem(page);
  await deleteByName(page);
}

async function editVariables(page) {
  await page.getByRole("button", { name: "Edit as text" }).first().click();
  const text = page.getByRole("textbox", { name: "At run time" });
  assert.ok(!(await text.inputValue()).includes(SECRET), "a secret is shown");
  await text.fill("GREETING");
  await page.getByText("is not NAME=value").waitFor();
  await text.fill("GREETING=goodbye\nAPI_KEY=********\nADDED_TOKEN=12345678");
  await look(page, "variables-edit");
  await page.getByRole("button", { name: "Review changes" }).click();
  await look(page, "variables-review");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("They act at the next deployment").waitFor();
}

/** What the server says about a field stands at the field. */
async function showAFieldsProblem(page) {
  await page.getByLabel("Replicas").fill("99");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("[aria-invalid=true]").waitFor();
  assert.equal(await page.getByLabel("Replicas").getAttribute("aria-invalid"), "true", "the problem is elsewhere");
  await look(page, "settings-problem");
  await page.getByRole("button", { name: "Discard" }).click();
}

/** The worst is asked for by its name. */
async function deleteByName(page) {
  await page.getByRole("button", { name: "Delete…" }).click();
  const dialog = page.getByRole("dialog");
  assert.ok(await dialog.getByRole("button", { name: "Delete" }).isDisabled(), "it can be deleted without its name");
  await look(page, "delete");
  await dialog.getByLabel("Type the name to confirm").fill("forms");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("forms is being deleted.").waitFor();
}
