// Commands of an application: one that is run and watched, one that is cancelled, and a schedule.
import assert from "node:assert/strict";
import { look } from "../look.mjs";
import { says } from "../repository.mjs";

export default async function commands(platform) {
  const repository = platform.repository("commanded", says("Commanded"));
  const application = await platform.deploy("commanded", { repository });
  const page = await platform.page("member");
  await page.goto(`${platform.origin}/applications/${application.id}/commands`);
  await run(page, "echo begun; sleep 2; echo done; exit 3");
  // Its lines come while it is looked at.
  await page.getByText("begun", { exact: true }).waitFor({ timeout: 60_000 });
  await page.getByText("done", { exact: true }).waitFor();
  await page.locator("main [role=status] .state", { hasText: "failed" }).waitFor();
  await page.getByText("exit code 3", { exact: true }).first().waitFor();
  await look(page, "command");

  await page.getByRole("link", { name: "Commands", exact: true }).click();
  await run(page, "sleep 600");
  await page.locator("main [role=status] .state", { hasText: "running" }).waitFor({ timeout: 60_000 });
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).last().click();
  await page.locator("main [role=status] .state", { hasText: "cancelled" }).waitFor({ timeout: 60_000 });

  await page.getByRole("link", { name: "Commands", exact: true }).click();
  await schedule(page);
  await look(page, "commands");
  const { schedules } = await platform.api("GET", `/deploy/application/${application.id}/schedules`);
  assert.deepEqual([schedules.length, schedules[0].cron, schedules[0].overlap], [1, "@daily", "replace"]);
  await runNow(platform, page, application);
  await page.getByRole("button", { name: "Delete: nightly" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("A schedule runs a command again and again.").waitFor();
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: "commanded" });
}

async function run(page, command) {
  await page.getByRole("button", { name: "Run a command" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Command").fill(command);
  await dialog.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL("**/commands/*");
}

/** Also of one that is switched off, whose next time stays. */
async function runNow(platform, page, application) {
  const { schedules } = await platform.api("GET", `/deploy/application/${application.id}/schedules`);
  await platform.api("PUT", `/deploy/schedules/${schedules[0].id}`, { enabled: false });
  await page.getByRole("button", { name: "Run now: nightly" }).click();
  await page.waitForURL("**/commands/*");
  await page.locator("main [role=status] .state", { hasText: "succeeded" }).waitFor({ timeout: 60_000 });
  await page.getByRole("link", { name: "Commands", exact: true }).click();
  await page.getByRole("row").filter({ hasText: "@daily" }).getByText("succeeded").waitFor();
}

/** What is wrong is told at its field. */
async function schedule(page) {
  await page.getByRole("button", { name: "Add a schedule" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("nightly");
  await dialog.getByLabel("Times").fill("0 0 31 2 *");
  await dialog.getByLabel("Command").fill("true");
  await dialog.getByRole("button", { name: "Add a schedule" }).click();
  await dialog.getByText("must be a time that comes").waitFor();
  await dialog.getByLabel("Times").fill("@daily");
  await dialog.getByLabel("While a run is not over").selectOption("replace");
  await dialog.getByRole("button", { name: "Add a schedule" }).click();
  await page.getByRole("row").filter({ hasText: "nightly" }).getByText("@daily UTC").waitFor();
}
