// Before a deploy: what it would change, and the deploy from there. Beside it: variables from a file and as one, and two deployments compared.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { look } from "../look.mjs";
import { says } from "../repository.mjs";

export default async function deployPlan(platform) {
  const repository = platform.repository("planned", says("Planned"));
  const application = await platform.deploy("planned", { repository });
  const page = await platform.page("member");
  const tab = (name) => page.getByRole("link", { name, exact: true }).click();
  await page.goto(`${platform.origin}/applications/${application.id}/plan`);
  await page.getByText("Nothing changes: the same is built and started once more.").waitFor();
  await page.getByText("No visitor waits.").waitFor();

  await tab("Variables");
  await importFile(page);
  await saveFile(page);
  await tab("Plan");
  await page.getByText("the new containers differ").waitFor();
  await page.getByRole("row").filter({ hasText: "GREETING" }).getByText("good morning").waitFor();
  const secret = page.getByRole("row").filter({ hasText: "KEY" });
  await secret.getByText("********").waitFor();
  await look(page, "deploy-plan");

  await page.getByRole("button", { name: "Deploy now" }).last().click();
  await page.locator("main [role=status] .state", { hasText: "deployed" }).waitFor({ timeout: 60_000 });
  await tab("Plan");
  await page.getByText("Nothing changes: the same is built and started once more.").waitFor();
  await tab("Deployments");
  await page.getByRole("button", { name: "Compare two" }).click();
  await page.getByRole("row").filter({ hasText: "GREETING" }).getByText("good morning").waitFor();
  await look(page, "compare-two");
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: "planned" });
}

async function importFile(page) {
  await page.getByRole("button", { name: "Import" }).first().click();
  const dialog = page.getByRole("dialog");
  const text = dialog.getByLabel("At run time");
  await text.fill("GREETING='good morning'\nno variable");
  await dialog.getByRole("button", { name: "Import" }).click();
  await dialog.getByText("text: line 2: must be NAME=value").waitFor();
  await dialog.getByLabel("File").setInputFiles({
    name: ".env",
    mimeType: "text/plain",
    buffer: Buffer.from("GREETING='good morning'\nKEY=hidden\n"),
  });
  await dialog.getByLabel("Never show").fill("KEY");
  await look(page, "import-variables");
  await dialog.getByRole("button", { name: "Import" }).click();
  await page.getByText("2 added, 0 changed, 0 removed.").waitFor();
  await dialog.waitFor({ state: "detached" });
}

async function saveFile(page) {
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).first().click();
  const saved = await saving;
  const text = readFileSync(await saved.path(), "utf8");
  assert.ok(saved.suggestedFilename() === "environment.env" && text.includes("GREETING='good morning'\n"), text);
  assert.ok(text.includes("# KEY: left out, because it is secret") && !text.includes("hidden"), text);
}
