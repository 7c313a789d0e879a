// What is measured of an application and of the machine: that it is drawn, told in words, and there as a table.
import assert from "node:assert/strict";
import { look } from "../look.mjs";
import { until } from "../until.mjs";

const NAME = "measured";
/** Two looks of the server, with some time for a busy machine. */
const LIMIT_MS = 90_000;

export default async function figures(platform) {
  const application = await platform.deploy(NAME);
  const page = await platform.page("viewer");
  await page.goto(`${platform.origin}/applications/${application.id}`);
  await page.getByRole("link", { name: "Figures", exact: true }).click();
  const processor = page.locator("figure", { has: page.getByRole("heading", { name: "Processor", exact: true }) });
  await processor.waitFor({ timeout: LIMIT_MS });
  for (let visit = 0; visit < 20; visit += 1) await platform.visit(`${NAME}.localhost`);
  await readByKeys(page);
  await readAsTable(processor);
  await look(page, "figures");
  await page.getByLabel("Period").selectOption("24");
  await page.getByText("One point is 5 minutes.").waitFor();
  await chooseTheInstance(page);
  await lookAtTheMachine(platform);
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: NAME });
}

/** Requests were counted, and the arrow keys find the moment. */
async function readByKeys(page) {
  const slider = page.getByRole("slider", { name: "Moment: Requests" });
  await slider.focus();
  await page.keyboard.press("End");
  const told = () => slider.getAttribute("aria-valuetext");
  await until("the visits are told", async () => {
    for (let step = 0; step < 12; step += 1) {
      if (/all [1-9]/.test(await told())) return true;
      await page.keyboard.press("ArrowLeft");
    }
    await page.keyboard.press("End");
    return false;
  });
  const before = Number(await slider.getAttribute("aria-valuenow"));
  await page.keyboard.press("ArrowLeft");
  assert.equal(Number(await slider.getAttribute("aria-valuenow")), before - 1, "the key moves by one");
}

async function readAsTable(processor) {
  await processor.getByText("As a table").click();
  const table = processor.getByRole("table");
  await table.waitFor();
  assert.match(await table.locator("tbody tr").first().textContent(), /%/, "a row says how much was used");
  await processor.getByText("As a table").click();
}

async function chooseTheInstance(page) {
  const instances = page.getByLabel("Instance");
  const names = await instances.locator("option").allInnerTexts();
  assert.ok(names.length >= 2 && /instance 1, since/.test(names[1]), `the instance is not offered: ${names}`);
  await instances.selectOption({ index: 1 });
  await page.getByRole("heading", { name: "Memory", exact: true }).waitFor();
}

async function lookAtTheMachine(platform) {
  const page = await platform.page("owner");
  await page.goto(`${platform.origin}/instance`);
  await page.getByRole("heading", { name: /^The machine: / }).waitFor();
  await page.getByRole("heading", { name: "Load", exact: true }).waitFor();
  await look(page, "instance-figures");
}
