// An application is asked again and again: set up, seen when it fails and when it answers again, and told to the public.
import assert from "node:assert/strict";
import { look } from "../look.mjs";
import { expect } from "../pages.mjs";
import { until } from "../until.mjs";

const NAME = "asked";
const OTHER = "unasked";
const HOST = "status.localhost";
/** A check begins within a second and is seen some seconds later, with some time for a busy machine. */
const LIMIT = { timeout: 60_000 };

export default async function uptime(platform) {
  const application = await platform.deploy(NAME);
  const page = await platform.page("member");
  await page.goto(`${platform.origin}/applications/${application.id}`);
  await page.getByRole("link", { name: "Uptime", exact: true }).click();
  await page.getByRole("heading", { name: "It is not checked" }).waitFor();
  await look(page, "uptime-none");
  await setUp(page);
  await fails(page);
  await answersAgain(platform, page, application);
  await readAsTable(page);
  await goThroughPages(page);
  await look(page, "uptime");
  await asViewer(platform, application);
  await turnOffAndOn(platform, page, application);
  await statusPage(platform, application);
  await remove(page);
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: NAME });
}

const stored = (platform, { id }) => platform.api("GET", `/deploy/application/${id}/uptime`);
const stateIs = (page, name) => page.locator("main [role=status]").getByText(name, { exact: true }).waitFor(LIMIT);
const outages = (page) => page.getByRole("table", { name: "Outages" });

/** What is wrong is told at its field. */
async function setUp(page) {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Set up a check" }).click();
  await look(page, "uptime-set-up");
  await dialog.getByLabel("Path").fill("nowhere");
  await dialog.getByLabel("Failures in a row").fill("1");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.locator("[aria-invalid=true]").waitFor();
  assert.equal(await dialog.getByLabel("Path").getAttribute("aria-invalid"), "true", "the problem is elsewhere");
  await dialog.getByLabel("Path").fill("/");
  await dialog.getByRole("button", { name: "Save" }).click();
  await stateIs(page, "up");
  await page.getByText("It answers as it should.").waitFor();
  await page.getByText("100 %", { exact: true }).first().waitFor();
  await page.getByText("None of the last 90 days.").waitFor();
}

async function fails(page) {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await dialog.getByLabel("Path").fill("/missing");
  await dialog.getByRole("button", { name: "Save" }).click();
  await stateIs(page, "down");
  await page.locator("dd", { hasText: "it answered with status 404" }).waitFor();
  await outages(page).getByText("lasts").waitFor();
  await outages(page).getByText("it answered with status 404").waitFor();
  assert.equal(await page.getByText("100 %", { exact: true }).count(), 0, "it is whole although it has failed");
  await look(page, "uptime-down");
}

/** Another user has repaired it: the page says so by itself. */
async function answersAgain(platform, page, { id }) {
  const path = `/deploy/application/${id}/uptime`;
  await platform.api("PUT", path, { path: "/" });
  await stateIs(page, "up");
  await outages(page).getByText("it answered again").waitFor();
  // One more that is as good changes no state, and is shown all the same.
  const strip = page.getByRole("img", { name: /^Recent checks: / });
  const before = await strip.getAttribute("aria-label");
  await platform.api("PUT", path, {});
  await until("the newest check is shown", async () => (await strip.getAttribute("aria-label")) !== before);
}

async function readAsTable(page) {
  const table = page.getByRole("table", { name: "Recent checks" });
  assert.equal(await table.count(), 0, "the table is there before it is opened");
  await page.locator("summary", { hasText: "As a table" }).click();
  const failed = table.getByRole("row").filter({ hasText: "it answered with status 404" });
  await failed.first().waitFor();
  assert.match(await failed.first().textContent(), /failed/);
  assert.ok((await table.locator("tbody tr").count()) >= 3, "checks are missing");
  const strip = page.getByRole("img", { name: /^Recent checks: / });
  assert.match(await strip.getAttribute("aria-label"), /\d+ good, [1-9]\d* failed.*answered in .* ms on average/);
}

/** With pages of two. */
async function goThroughPages(page) {
  const small = (route) =>
    route.continue({
      url: route
        .request()
        .url()
        .replace(/limit=\d+/, "limit=2"),
    });
  await page.route("**/uptime/checks?*", small);
  await page.reload();
  await page.locator("summary", { hasText: "As a table" }).click();
  const rows = page.getByRole("table", { name: "Recent checks" }).locator("tbody tr");
  await until("there is a page of two", async () => (await rows.count()) === 2);
  const pages = page.getByRole("navigation", { name: "Pages of the checks" });
  assert.ok(await pages.getByRole("button", { name: "Newest" }).isDisabled());
  const last = await rows.last().textContent();
  await pages.getByRole("button", { name: "Older" }).click();
  await until("the page is an older one", async () => !(await rows.allTextContents()).includes(last));
  await pages.getByRole("button", { name: "Newest" }).click();
  await until("the newest are asked for", () => pages.getByRole("button", { name: "Newest" }).isDisabled());
  await until("the newest are there", async () => (await rows.count()) === 2);
  await page.unroute("**/uptime/checks?*", small);
  await page.reload();
}

const buttonsIn = async (page) => (await page.locator("main").getByRole("button").allTextContents()).join();

async function asViewer(platform, { id }) {
  const page = await platform.page("viewer");
  await page.goto(`${platform.origin}/applications/${id}/uptime`);
  await stateIs(page, "up");
  await page.getByText("Members, admins and owners can set this up.").waitFor();
  expect((await buttonsIn(page)) === "", `a viewer is offered ${await buttonsIn(page)}`);
  await look(page, "uptime-viewer");
  await page.context().close();
}

/** What was seen stays meanwhile. */
async function turnOffAndOn(platform, page, application) {
  await page.getByRole("button", { name: "Turn off" }).click();
  await stateIs(page, "not checked");
  assert.equal((await stored(platform, application)).enabled, false);
  await outages(page).getByText("it answered again").waitFor();
  await page.getByRole("button", { name: "Turn on" }).click();
  await stateIs(page, "up");
}

async function statusPage(platform, application) {
  const other = await platform.api("POST", "/deploy/application", { name: OTHER, repository: "push" });
  const { id } = await platform.api("GET", "/organizations");
  const path = `/organizations/${id}/status-page`;
  const page = await platform.page("admin");
  await page.goto(`${platform.origin}/organization/status`);
  await stateIs(page, "off");
  await fillIn(page, application);
  await isPublic(platform, page);
  const { applications } = await platform.api("GET", path);
  assert.deepEqual(applications, [
    { application_id: other.id, name: OTHER },
    { application_id: application.id, name: "The page" },
  ]);
  await changedByAnother(platform, page, path);
  await viewerReads(platform);
  await turnOff(platform, page);
  await platform.api("DELETE", "/deploy/application", { id: other.id, name: OTHER });
}

const save = (page) => page.getByRole("button", { name: "Save" }).click();

async function add(page, name) {
  await page.getByLabel("Add an application").selectOption({ label: name });
  await page.getByRole("button", { name: "Add", exact: true }).click();
}

async function fillIn(page, { domain }) {
  await page.getByLabel("Everyone on the internet can read it").check();
  await page.getByLabel("Title").fill("All of it");
  await page.getByLabel("Domain").fill(domain);
  await add(page, NAME);
  await page.getByLabel(`Name for the public: ${NAME}`).fill("The page");
  await add(page, OTHER);
  await page.getByRole("button", { name: `Down: ${NAME}` }).click();
  await save(page);
  // An application has it.
  await page.locator("[aria-invalid=true]").waitFor();
  assert.equal(await page.getByLabel("Domain").getAttribute("aria-invalid"), "true", "the problem is elsewhere");
  await look(page, "status-page-problem");
  await page.getByLabel("Domain").fill(HOST);
  await save(page);
  await page.getByText("Saved. It is there in some seconds.").waitFor();
}

async function isPublic(platform, page) {
  await stateIs(page, "public");
  const link = page.getByRole("link", { name: /^Open the page: / });
  assert.equal(await link.getAttribute("href"), `http://${HOST}/`);
  const html = await until("the page is served", async () => {
    const { status, text } = await platform.visit(HOST);
    return status === 200 && text;
  });
  assert.ok(html.includes("The page") && html.includes("All of it"), html);
  assert.ok(!html.includes(`${NAME}.localhost`), "the public reads an internal name");
  await look(page, "status-page");
}

/** Nothing is overwritten that was not seen. */
async function changedByAnother(platform, page, path) {
  await page.getByLabel("Title").fill("Mine");
  await platform.api("PUT", path, { title: "Theirs" });
  await save(page);
  await page.getByText("Changed meanwhile to: Theirs").waitFor();
  assert.equal((await platform.api("GET", path)).title, "Theirs", "it was overwritten unseen");
  await look(page, "status-page-conflict");
  await page.getByRole("button", { name: "Keep mine" }).click();
  await save(page);
  await until("it is saved", async () => (await platform.api("GET", path)).title === "Mine");
}

/** What DNS should say is for all members. */
async function viewerReads(platform) {
  const page = await platform.page("viewer");
  await page.goto(`${platform.origin}/organization/status`);
  await page.getByRole("table", { name: "Applications" }).getByText("The page").waitFor();
  await page.getByText("Admins and owners can change this.").waitFor();
  await page.getByRole("button", { name: "Check" }).waitFor();
  expect((await buttonsIn(page)) === "Check", `a viewer is offered ${await buttonsIn(page)}`);
  await look(page, "status-page-viewer");
  await page.context().close();
}

/** It is gone at once. */
async function turnOff(platform, page) {
  await page.getByLabel("Everyone on the internet can read it").uncheck();
  await save(page);
  await stateIs(page, "off");
  await until("the page is gone", async () => (await platform.visit(HOST)).status === 404);
  await page.context().close();
}

async function remove(page) {
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await look(page, "uptime-delete");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "It is not checked" }).waitFor();
}
