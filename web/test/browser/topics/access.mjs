// Who comes to an application, and how: each group is saved on its own, and visitors meet it without a deployment.
import assert from "node:assert/strict";
import { look } from "../look.mjs";
import { until } from "../until.mjs";

const NAME = "guarded";
const HOST = `${NAME}.localhost`;
const PAGE = "<h1>Back at noon</h1>";
const SECRET = "correct horse";

export default async function access(platform) {
  const application = await platform.deploy(NAME);
  const visitors = new Visitors(platform, application);
  const page = await platform.page("member");
  await page.goto(`${platform.origin}/applications/${application.id}`);
  await page.getByRole("link", { name: "Access", exact: true }).click();
  await page.getByText("Visitors need no name and no password.").waitFor();

  await keepOut(page, visitors);
  await addAUser(page, visitors);
  await changeThePassword(page, visitors);
  await keepWhatOthersHaveSet(platform, page, visitors);
  await setLimits(page, visitors);
  await setHeaders(page, visitors);
  await writeAPage(page, visitors);
  await maintain(page, visitors, application);
  await lookAsViewer(platform, application);
  await removeAll(page, visitors);
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: NAME });
}

/** What is stored, and what a visitor gets. */
class Visitors {
  constructor(platform, { id }) {
    Object.assign(this, { platform, path: `/deploy/application/${id}/access` });
  }

  stored() {
    return this.platform.api("GET", this.path);
  }

  /** Waits until the edge has it. */
  get(status, credentials) {
    const headers = credentials ? { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` } : {};
    return until(`visitors with ${credentials ?? "nothing"} get ${status}`, async () => {
      const answer = await this.platform.answerFor(HOST, { headers });
      return answer.status === status && answer;
    });
  }
}

const saved = (page) => page.getByText("Saved. It acts at once.").last().waitFor();

/** Closes what was told, so that the next of the same words is not taken for it. */
async function dismiss(page) {
  const toasts = page.locator(".toast");
  for (let left = await toasts.count(); left > 0; left -= 1) {
    await toasts.first().getByRole("button", { name: "Close" }).click();
  }
  await until("nothing is told any more", async () => (await toasts.count()) === 0);
}

async function save(page, group) {
  await page.getByRole("button", { name: `Save: ${group}` }).click();
  await saved(page);
  await dismiss(page);
}

async function keepOut(page, visitors) {
  const [deny, button] = [page.getByLabel("Not from"), page.getByRole("button", { name: "Save: Networks" })];
  assert.ok(await button.isDisabled(), "nothing was changed, and it can be saved");
  await deny.fill("127.0.0.0/8\nnonsense");
  await button.click();
  // What the server says about a field stands at the field.
  await page.getByText("item 2 must be an address or a network").waitFor();
  assert.equal(await deny.getAttribute("aria-invalid"), "true", "the problem is elsewhere");
  await look(page, "access-problem");
  await deny.fill("127.0.0.1/8, 2001:db8::/32");
  await save(page, "Networks");
  assert.equal(await deny.inputValue(), "127.0.0.0/8\n2001:db8::/32", "it is not shown what was stored");
  await visitors.get(403);
  await deny.fill("");
  await save(page, "Networks");
  await visitors.get(200);
  assert.deepEqual((await visitors.stored()).deny, []);
}

async function addAUser(page, visitors) {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Add user" }).click();
  await dialog.getByLabel("Name").fill("an:na");
  await dialog.getByLabel("Password").fill(SECRET);
  await dialog.getByRole("button", { name: "Add user" }).click();
  await page.locator("[aria-invalid=true]").waitFor();
  assert.equal(await dialog.getByLabel("Name").getAttribute("aria-invalid"), "true", "the problem is elsewhere");
  await dialog.getByLabel("Name").fill("anna");
  await dialog.getByLabel("Password").fill("short");
  await dialog.getByRole("button", { name: "Add user" }).click();
  await dialog.getByText("must have at least 8").waitFor();
  assert.equal(await dialog.getByLabel("Password").getAttribute("aria-invalid"), "true", "the problem is elsewhere");
  await look(page, "access-add-user");
  await dialog.getByLabel("Password").fill(SECRET);
  await dialog.getByRole("button", { name: "Add user" }).click();
  await saved(page);
  await dismiss(page);
  await page.getByRole("table", { name: "Users" }).getByText("anna", { exact: true }).waitFor();
  await page.getByRole("textbox", { name: "Realm" }).fill("Staging");
  await save(page, "Realm");
  await until("the realm is told", async () => {
    const { headers } = await visitors.get(401);
    return headers["www-authenticate"]?.includes('realm="Staging"');
  });
  await visitors.get(200, `anna:${SECRET}`);
}

async function changeThePassword(page, visitors) {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Change password: anna" }).click();
  assert.equal(await dialog.getByLabel("Password").inputValue(), "", "a password is in the form");
  await dialog.getByLabel("Password").fill(`${SECRET} battery`);
  await dialog.getByRole("button", { name: "Change password" }).click();
  await saved(page);
  await dismiss(page);
  await visitors.get(401, `anna:${SECRET}`);
  await visitors.get(200, `anna:${SECRET} battery`);
}

/** A page that has not heard of a change neither undoes it nor overwrites it unseen. */
async function keepWhatOthersHaveSet(platform, page, visitors) {
  const deaf = await platform.page("owner");
  await deaf.route("**/api/v1/events*", () => {});
  await deaf.goto(page.url());
  await deaf.getByRole("table", { name: "Users" }).waitFor();
  await visitors.platform.api("PUT", visitors.path, { users: { anna: "********", ben: SECRET }, realm: "Theirs" });
  const dialog = deaf.getByRole("dialog");
  const add = async (name) => {
    await dialog.getByLabel("Name").fill(name);
    await dialog.getByLabel("Password").fill(SECRET);
    await dialog.getByRole("button", { name: "Add user" }).click();
  };
  await deaf.getByRole("textbox", { name: "Realm" }).fill("Mine");
  await deaf.getByRole("button", { name: "Add user" }).click();
  await add("ben");
  await dialog.getByText("ben is there already.").waitFor();
  await add("cleo");
  await saved(deaf);
  assert.deepEqual(Object.keys((await visitors.stored()).users), ["anna", "ben", "cleo"], "a user was lost");
  await deaf.getByText("Changed meanwhile to: Theirs").waitFor();
  await look(deaf, "access-conflict");
  assert.ok(await deaf.getByRole("button", { name: "Save: Realm" }).isDisabled(), "it can be saved without a decision");
  await deaf.getByRole("button", { name: "Take that" }).click();
  await visitors.get(200, `ben:${SECRET}`);
  await visitors.get(200, `anna:${SECRET} battery`);
  await deaf.context().close();
}

async function setLimits(page, visitors) {
  await page.getByLabel("Largest body of a request").fill("many");
  await page.getByText("Write a number, or one with KiB, MiB or GiB.").waitFor();
  assert.ok(await page.getByRole("button", { name: "Save: Limits" }).isDisabled(), "no size can be saved");
  await page.getByLabel("Largest body of a request").fill("1.5 MB");
  await page.getByText("These are 1,500,000 bytes.").waitFor();
  await page.getByLabel("Requests per minute").fill("6000");
  await page.getByLabel("Of these at once").fill("500");
  await page.getByLabel("Answer within, seconds").fill("30");
  await save(page, "Limits");
  const { requests_per_minute, request_burst, body_bytes, answer_seconds } = await visitors.stored();
  assert.deepEqual([requests_per_minute, request_burst, body_bytes, answer_seconds], [6000, 500, 1_500_000, 30]);
}

async function setHeaders(page, visitors) {
  const dialog = page.getByRole("dialog");
  await page.getByLabel("Security headers").check();
  await page.getByLabel("Compress answers").check();
  await save(page, "Headers and compression");
  await page.getByRole("button", { name: "Add header" }).click();
  await dialog.getByLabel("Name").fill("Content-Length");
  await dialog.getByRole("button", { name: "Add header" }).click();
  await dialog.getByText("cannot be set here").waitFor();
  assert.equal(await dialog.getByLabel("Name").getAttribute("aria-invalid"), "true", "the problem is elsewhere");
  await dialog.getByLabel("Name").fill("X-Team");
  await dialog.getByLabel("Value").fill("blue");
  await dialog.getByRole("button", { name: "Add header" }).click();
  await saved(page);
  await dismiss(page);
  await until("answers have the header", async () => {
    const { headers } = await visitors.get(200, `ben:${SECRET}`);
    return headers["x-team"] === "blue" && headers["x-content-type-options"] === "nosniff";
  });
  await page.getByRole("button", { name: "Change: x-team" }).click();
  assert.equal(await dialog.getByLabel("Value").inputValue(), "blue");
  await dialog.getByLabel("Value").fill("");
  await dialog.getByRole("button", { name: "Save" }).click();
  await saved(page);
  await dismiss(page);
  await page.getByRole("table", { name: "Own headers" }).getByText("removed from answers").waitFor();
  const { headers, security_headers, compress } = await visitors.stored();
  assert.deepEqual([headers, security_headers, compress], [{ "x-team": "" }, true, true]);
}

async function writeAPage(page, visitors) {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Add page" }).click();
  await dialog.getByLabel("Status").selectOption("503");
  await dialog.getByLabel("HTML").fill(PAGE);
  await look(page, "access-add-page");
  await dialog.getByRole("button", { name: "Add page" }).click();
  await saved(page);
  await dismiss(page);
  assert.deepEqual((await visitors.stored()).pages, { 503: PAGE });
}

async function maintain(page, visitors, application) {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Start maintenance" }).click();
  await dialog.getByText("or your own page for 503").waitFor();
  await dialog.getByRole("button", { name: "Start maintenance" }).click();
  await page.getByText("Visitors now get the page for maintenance.").waitFor();
  await dismiss(page);
  assert.equal((await visitors.get(503, `ben:${SECRET}`)).text, PAGE);
  // It is told on every part of the application's page.
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  const notice = page.getByRole("status").filter({ hasText: "Under maintenance: visitors get a page" });
  await notice.waitFor();
  await look(page, "overview-maintenance");
  await notice.getByRole("link", { name: "Access" }).click();
  await page.waitForURL(`**/applications/${application.id}/access`);
}

/** Everything is shown, and nothing can be changed. */
async function lookAsViewer(platform, application) {
  const page = await platform.page("viewer");
  await page.goto(`${platform.origin}/applications/${application.id}/access`);
  await page.getByText("Your role only lets you look.").waitFor();
  await page.getByRole("table", { name: "Users" }).getByText("anna", { exact: true }).waitFor();
  await page.getByText("HTML of 503").click();
  await page.getByText(PAGE).waitFor();
  await look(page, "access-viewer");
  const main = page.locator("main");
  assert.equal(await main.getByRole("button", { name: /Save|Add|Change|Remove|maintenance/ }).count(), 0);
  assert.equal(await page.getByLabel("Not from").isEditable(), false, "a field can be changed");
  assert.ok(await page.getByLabel("Compress answers").isDisabled(), "a tick can be changed");
  await page.context().close();
}

async function removeAll(page, visitors) {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "End maintenance" }).click();
  await page.getByText("Visitors are served again.").waitFor();
  for (const name of ["cleo", "ben", "anna", "x-team", "503"]) {
    await page.getByRole("button", { name: `Remove: ${name}` }).click();
    if (name === "anna") await dialog.getByText("It is the last one").waitFor();
    await dialog.getByRole("button", { name: "Remove" }).click();
    await page.getByText(`${name} is removed.`).waitFor();
    await dialog.waitFor({ state: "detached" });
  }
  await visitors.get(200);
  const { users, headers, pages, maintenance } = await visitors.stored();
  assert.deepEqual({ users, headers, pages, maintenance }, { users: {}, headers: {}, pages: {}, maintenance: false });
}
