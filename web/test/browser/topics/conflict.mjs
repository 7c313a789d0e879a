// Two people change the same thing in two browsers: it is shown, and nothing is overwritten that was not seen.
import assert from "node:assert/strict";
import { look } from "../look.mjs";

export default async function conflict(platform) {
  const application = await platform.deploy("shared", { environment_variables: { GREETING: "hello" } });
  await changeOneSetting(platform, application);
  await changeOneSettingWithoutEvents(platform, application);
  await changeVariablesWithoutEvents(platform, application);
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: "shared" });
}

const stored = (platform, { id }) => platform.api("GET", `/deploy/application?id=${id}`);

async function save(page) {
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
}

async function changeOneSetting(platform, application) {
  const [mine, theirs] = [await platform.page("owner"), await platform.page("member")];
  for (const page of [mine, theirs]) await page.goto(`${platform.origin}/applications/${application.id}/settings`);
  await mine.getByLabel("Environment").fill("mine");
  await theirs.getByLabel("Environment").fill("theirs");
  await theirs.getByLabel("Health limit").fill("77");
  await save(theirs);
  await mine.getByText("Changed meanwhile to: theirs").waitFor();
  assert.equal(await mine.getByLabel("Environment").inputValue(), "mine", "a draft was overwritten");
  assert.equal(await mine.getByLabel("Health limit").inputValue(), "77", "what was not touched is old");
  assert.ok(await mine.getByRole("button", { name: "Save" }).isDisabled(), "it can be saved without a decision");
  await look(mine, "conflict");
  await mine.getByRole("button", { name: "Keep mine" }).click();
  await save(mine);
  assert.equal((await stored(platform, application)).environment, "mine");
}

/** A page that hears of no change until it asks. */
async function deafPage(platform, role, path) {
  const page = await platform.page(role);
  await page.route("**/api/v1/events*", () => {});
  await page.goto(`${platform.origin}${path}`);
  return page;
}

async function changeOneSettingWithoutEvents(platform, application) {
  const path = `/applications/${application.id}/settings`;
  const deaf = await deafPage(platform, "owner", path);
  await deaf.getByLabel("Environment").fill("unseen");
  const theirs = await platform.page("member");
  await theirs.goto(`${platform.origin}${path}`);
  await theirs.getByLabel("Environment").fill("staging");
  await save(theirs);
  await deaf.getByRole("button", { name: "Save" }).click();
  await deaf.getByText("Changed meanwhile to: staging").waitFor();
  assert.equal((await stored(platform, application)).environment, "staging", "it was overwritten unseen");
  await deaf.getByRole("button", { name: "Take that" }).click();
  assert.equal(await deaf.getByLabel("Environment").inputValue(), "staging");
}

async function changeVariablesWithoutEvents(platform, application) {
  const path = `/applications/${application.id}/variables`;
  const deaf = await deafPage(platform, "owner", path);
  const theirs = await platform.page("member");
  await theirs.goto(`${platform.origin}${path}`);
  await write(deaf, "GREETING=goodbye");
  await write(theirs, "GREETING=hello\nADDED=by a colleague");
  await save(theirs);
  await deaf.getByRole("button", { name: "Save" }).click();
  await deaf.getByText("The variables were changed meanwhile").waitFor();
  const now = JSON.parse((await stored(platform, application)).environment_variables);
  assert.deepEqual(now, { GREETING: "hello", ADDED: "by a colleague" }, "they were overwritten unseen");
  await deaf.getByRole("listitem").filter({ hasText: "ADDED" }).getByText("removed").waitFor();
}

async function write(page, text) {
  await page.getByRole("button", { name: "Edit as text" }).first().click();
  await page.getByRole("textbox", { name: "At run time" }).fill(text);
  await page.getByRole("button", { name: "Review changes" }).click();
}
