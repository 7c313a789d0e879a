// What is around the views: keys, the command palette, the network, a new version, several tabs.
import assert from "node:assert/strict";
import { look } from "../look.mjs";
import { newPage } from "../pages.mjs";
import { until } from "../until.mjs";

export default async function shell(platform) {
  const application = await platform.deploy("compass");
  await useTheKeyboard(await platform.page("owner"), platform.origin);
  await loseTheNetwork(await platform.page("owner"), platform.origin);
  await getANewVersion(await platform.page("owner"), platform.origin);
  await workInTwoTabs(platform, application);
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: "compass" });
}

const atHome = async (page, origin) => {
  await page.goto(origin);
  await page.getByRole("heading", { name: "Applications", level: 1 }).waitFor();
};

async function useTheKeyboard(page, origin) {
  await atHome(page, origin);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Go to, or do…" }).fill("comp");
  await page.getByRole("option", { name: "compass" }).waitFor();
  await look(page, "palette");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "compass", level: 1 }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor();
  await look(page, "shortcuts");
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor({ state: "detached" });
  await page.keyboard.press("g");
  await page.keyboard.press("u");
  await page.getByRole("heading", { name: "Account", level: 1 }).waitFor();
}

async function loseTheNetwork(page, origin) {
  await atHome(page, origin);
  await page.context().setOffline(true);
  await page.getByText("You are offline").waitFor();
  await look(page, "offline");
  await page.context().setOffline(false);
  await page.getByText("You are offline").waitFor({ state: "detached" });
}

/** The page of another version, in place of the server's: there is only one version of the binary here. */
async function getANewVersion(page, origin) {
  await page.clock.install();
  await atHome(page, origin);
  await page.route(`${origin}/`, (route) => route.fulfill({ body: `<script src="/assets/index-other.js"></script>` }));
  await page.clock.fastForward(61_000);
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await page.getByText("A new version of the dashboard is there.").waitFor();
}

/** Two tabs have one stream, which the one that stays takes over; each of them shows what the other has changed. */
async function workInTwoTabs(platform, application) {
  const context = await platform.context("owner");
  const streams = [];
  context.on("request", (request) => request.url().includes("/events") && streams.push(request.url()));
  const [one, other] = [await newPage(context), await newPage(context)];
  const address = `${platform.origin}/applications/${application.id}/settings`;
  for (const page of [one, other]) {
    await page.goto(address);
    await page.getByLabel("Environment").waitFor();
  }
  await change(one, "staging");
  await until("the other tab shows it", async () => (await other.getByLabel("Environment").inputValue()) === "staging");
  assert.equal(streams.length, 1, "two tabs have more than one stream");
  await one.close();
  await until("the tab that stays takes over", () => streams.length === 2);
  await platform.api("PUT", "/deploy/application", { id: application.id, environment: "production" });
  await until("it goes on to hear", async () => (await other.getByLabel("Environment").inputValue()) === "production");
}

async function change(page, environment) {
  await page.getByLabel("Environment").fill(environment);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
}
