// A second version is deployed and rolled back, and visitors get the first one again. Beside it: stop, start and cancel.
import assert from "node:assert/strict";
import { look } from "../look.mjs";
import { says } from "../repository.mjs";
import { until } from "../until.mjs";

const FIRST = "This is the first version";
const SECOND = "This is the second version";

export default async function rollback(platform) {
  const repository = platform.repository("shop", says(FIRST));
  const application = await platform.deploy("shop", { repository });
  repository.commit(says(SECOND), "Second version");
  const page = await platform.page("member");
  await page.goto(`${platform.origin}/applications/${application.id}`);
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await deployed(page, "Redeploy");
  assert.equal((await platform.visit("shop.localhost")).text, SECOND);

  await page.getByRole("link", { name: "Deployments" }).click();
  const first = page.getByRole("row").filter({ hasText: "First version" });
  await first.getByRole("button", { name: "Roll back" }).click();
  const dialog = page.getByRole("dialog");
  // Beside the commits, the changes name them too.
  await dialog.getByText("First version").first().waitFor();
  await dialog.getByText("Second version").first().waitFor();
  await look(page, "roll-back");
  await dialog.getByRole("button", { name: "Roll back" }).click();
  await deployed(page, "Rollback");
  assert.deepEqual(await platform.visit("shop.localhost"), { status: 200, text: FIRST });
  await look(page, "deployment-rolled-back");
  await stopAndStart(platform, page);
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: "shop" });
}

/** The page that the action has led to shows its deployment's end. */
async function deployed(page, kind) {
  await page.getByRole("heading", { name: kind, level: 2, exact: true }).waitFor();
  await page.locator("main [role=status] .state", { hasText: "deployed" }).waitFor({ timeout: 60_000 });
}

async function stopAndStart(platform, page) {
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByRole("button", { name: "Actions" }).click();
  await look(page, "actions");
  await page.getByRole("button", { name: "Stop" }).click();
  await look(page, "stop");
  await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Start" }).waitFor();
  await until("visitors are refused", async () => (await platform.visit("shop.localhost")).status !== 200);
  await page.getByRole("button", { name: "Start" }).click();
  await deployed(page, "Start");
  assert.equal((await platform.visit("shop.localhost")).text, FIRST);
}
