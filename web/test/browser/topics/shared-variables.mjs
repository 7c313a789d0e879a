// Variables that applications share: an admin changes them, a member refers to them, a viewer reads none.
import assert from "node:assert/strict";
import { look } from "../look.mjs";

const REFERENCE = "$" + "{{shared.PLACE}}";

export default async function sharedVariables(platform) {
  const page = await platform.page("owner");
  await page.goto(`${platform.origin}/organization/variables`);
  await write(page, "PLACE=Lisbon\nAPI_KEY=very-secret");
  await page.getByText("They act at the next deployment of each application").waitFor();
  await page.getByLabel("Of", { exact: true }).selectOption("staging");
  await page.getByText("No variables.").waitFor();
  await write(page, "PLACE=Porto");
  await page.getByRole("button", { name: "Show: PLACE" }).click();
  await page.getByText("Porto").waitFor();
  await look(page, "shared-variables");

  const application = await platform.deploy("places", {
    environment: "staging",
    environment_variables: { GREETING: `Hello ${REFERENCE}` },
  });
  await refuseToRemove(page);
  await change(platform, page, application);
  await lookAsOthers(platform);
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: "places" });
  for (const environment of ["staging", ""]) {
    await platform.api("PUT", "/variables/shared", { environment, variables: {} });
  }
}

async function write(page, text) {
  await page.getByRole("button", { name: "Edit as text" }).click();
  await page.getByRole("textbox", { name: "Shared variables" }).fill(text);
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByRole("button", { name: "Save" }).click();
}

/** Of the organization: applications of other environments could not be deployed any more. */
async function refuseToRemove(page) {
  await page.getByLabel("Of", { exact: true }).selectOption("");
  await page.getByText("API_KEY").waitFor();
  await write(page, "API_KEY=********");
  // People cannot choose another environment before it is saved and the dialog is gone; a test could.
  await page.getByRole("button", { name: "Save" }).waitFor({ state: "hidden" });
  // What refers to it has a value in its own environment; its previews do without.
  await page.getByText("They act at the next deployment of each application").first().waitFor();
  await page.getByLabel("Of", { exact: true }).selectOption("staging");
  await page.getByRole("button", { name: "Show: PLACE" }).waitFor();
  await write(page, "");
  await page.getByText("places: environment_variables: GREETING: there is no shared variable PLACE").waitFor();
  await page.getByRole("button", { name: "Back" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
}

/** The application says that a change waits for its next deployment. */
async function change(platform, page, application) {
  await write(page, "PLACE=Faro");
  const pending = async () => (await platform.api("GET", `/deploy/application?id=${application.id}`)).pending_fields;
  await page.getByRole("button", { name: "Show: PLACE" }).click();
  await page.getByText("Faro").waitFor();
  assert.deepEqual(await pending(), ["environment_variables"]);
  await page.goto(`${platform.origin}/applications/${application.id}/variables`);
  await page.getByText("These changes wait for the next deployment").waitFor();
  await platform.redeploy(application);
  assert.deepEqual(await pending(), []);
}

async function lookAsOthers(platform) {
  const member = await platform.page("member");
  await member.goto(`${platform.origin}/organization/variables`);
  await member.getByText("API_KEY").waitFor();
  assert.equal(await member.getByRole("button", { name: "Edit as text" }).count(), 0, "a member may not change them");
  const viewer = await platform.page("viewer");
  await viewer.goto(`${platform.origin}/organization/variables`);
  await viewer.getByText("Values are hidden: your role may not read them.").waitFor();
  assert.equal(await viewer.getByRole("button", { name: "Show: API_KEY" }).count(), 0);
}
