// A session is ended from another browser: the page says so by itself, shows nothing from then on, and keeps what was typed.
import assert from "node:assert/strict";
import { look } from "../look.mjs";
import { PASSWORD } from "../platform.mjs";
import { CHATTY } from "../repository.mjs";
import { until } from "../until.mjs";

export default async function session(platform) {
  const application = await platform.deploy("chatty", { repository: platform.repository("chatty", CHATTY) });
  await keepTheDraft(platform, application);
  await endTheLog(platform, application);
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: "chatty" });
}

/** Ends all other sessions of the person, in a browser of its own. */
async function endOtherSessions(platform, role) {
  const page = await platform.page(role);
  await page.goto(`${platform.origin}/account/sessions`);
  const others = page.getByRole("row").filter({ has: page.getByRole("button", { name: "End" }) });
  await others.first().waitFor();
  for (let left = await others.count(); left > 0; left -= 1) {
    await others.first().getByRole("button", { name: "End" }).click();
    await page.getByText("The session has ended.").last().waitFor();
    await others.nth(left - 1).waitFor({ state: "detached" });
  }
}

async function keepTheDraft(platform, application) {
  const page = await platform.page("member");
  // What the page asks by itself is not answered: only the click can learn that the login has ended.
  await page.route(/\/api\/v1\/(events|auth\/sessions)/, () => {});
  await page.goto(`${platform.origin}/applications/${application.id}/settings`);
  await page.getByLabel("Health path").fill("/draft");
  await endOtherSessions(platform, "member");
  await page.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog", { name: "Your login has ended" });
  await dialog.waitFor();
  await page.unrouteAll();
  await look(page, "lapsed");
  assert.equal(await page.getByText("chatty").first().isVisible(), false, "what was loaded before is still shown");

  await logInAgain(dialog);
  assert.equal(await page.getByLabel("Health path").inputValue(), "/draft", "the draft is lost");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
}

async function logInAgain(dialog) {
  await dialog.getByLabel("Password").fill(PASSWORD);
  await dialog.getByRole("button", { name: "Log in" }).click();
  await dialog.waitFor({ state: "detached" });
}

/** A log that is being followed when the session ends. */
async function endTheLog(platform, application) {
  const page = await platform.page("member");
  await page.goto(`${platform.origin}/applications/${application.id}/logs`);
  await page
    .locator(".log-line", { hasText: /said \d+/ })
    .first()
    .waitFor();
  await endOtherSessions(platform, "member");
  // Nothing is clicked: the streams end, and so the page hears of it.
  const dialog = page.getByRole("dialog", { name: "Your login has ended" });
  await dialog.waitFor({ timeout: 30_000 });
  const newest = () =>
    page.locator(".log-line").evaluateAll((rows) => Math.max(...rows.map((row) => row.dataset.cursor)));
  const atTheEnd = await newest();
  const log = `/deploy/application/logs/${application.id}?relations=none&page_size=1`;
  await until("more is printed", async () => {
    const { logs } = await platform.api("GET", log);
    return Number(logs[0].cursor) > atTheEnd + 20;
  });
  assert.equal(await newest(), atTheEnd, "lines go on to be shown");
  await logInAgain(dialog);
  await until("the log goes on", async () => (await newest()) > atTheEnd + 20);

  await endOtherSessions(platform, "member");
  await dialog.waitFor({ timeout: 30_000 });
  await page.reload();
  await page.getByRole("button", { name: "Log in" }).waitFor();
  assert.equal(await page.getByText("chatty").count(), 0, "something is shown without a login");
}
