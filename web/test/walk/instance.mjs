// The installation, password links, and the login that is renewed.
// The API does not have /instance and /auth/reset-password yet: until it has, their answers are put in place of the server's.
import { newPage } from "../browser.mjs";

const envelope = (data) => ({ json: { status: "success", message: "", data } });
const PAGINATION = { current_page: 1, page_size: 50, total_pages: 1, has_next: false, has_prev: false };

export async function instance({ context, page, origin, api, look, expect }, graces) {
  const me = await api(page, "GET", "/user");
  const grace = await api(graces, "GET", "/user");
  await answerForTheServer(page, [me, grace]);
  await openEachPart({ page, origin, look, expect });
  await resetAPassword({ page, origin, look, expect }, graces);
  await page.unrouteAll();
  await graces.goto(`${origin}/instance`);
  await graces.getByText("This is for admins of the installation").waitFor();
  await look(graces, "instance-user");
  await renewTheLogin({ context, page, origin, expect });
}

async function answerForTheServer(page, users) {
  const listed = users.map((user) => ({ ...user, organizations: 1 }));
  const settings = [
    { name: "listen", value: "0.0.0.0:7780", is_default: false },
    { name: "session-days", value: "7", is_default: true },
    { name: "public-url", value: "https://deploy.example.org", is_default: false },
    { name: "trusted-proxies", value: "", is_default: true },
    { name: "build-cache-gib", value: "20", is_default: true },
  ];
  const found = {
    ...{ version: "0.1.0", started_at: new Date(Date.now() - 86_400_000 * 3).toISOString(), database: "sqlite" },
    ...{ public_url: "https://deploy.example.org", edge_addresses: ["0.0.0.0:80", "[::]:80"] },
    engine: { version: "27.3.1", problem: "" },
    disk: { total_bytes: 512e9, free_bytes: 61e9 },
    queue: { waiting: 2, running: 1 },
    ...{ users: 2, organizations: 1, applications: 14, settings },
  };
  await page.route("**/api/v1/instance", (route) => route.fulfill(envelope(found)));
  await page.route("**/api/v1/instance/users?*", (route) => {
    const search = new URL(route.request().url()).searchParams.get("search") ?? "";
    const some = listed.filter(({ email }) => email.includes(search));
    return route.fulfill(envelope({ users: some, pagination: { ...PAGINATION, total_count: some.length } }));
  });
  const made = { token: "a-token-of-a-link", expires_at: new Date(Date.now() + 1_800_000).toISOString() };
  await page.route("**/api/v1/instance/users/*/password-reset", (route) => route.fulfill(envelope(made)));
}

async function openEachPart({ page, origin, look, expect }) {
  await page.goto(origin);
  await page.getByRole("button", { name: "Account of Ada" }).click();
  await look(page, "account-menu");
  await page.getByRole("link", { name: "Installation" }).click();
  await page.getByText("Log store").waitFor();
  await page.getByText("61 GB of 512 GB free").waitFor();
  await look(page, "instance-health");
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByText("trusted-proxies").waitFor();
  await look(page, "instance-settings");
  await page.getByLabel(/Only those that differ/).check();
  await page.getByText("trusted-proxies").waitFor({ state: "detached" });
  await page.getByLabel("Search settings").fill("public");
  expect((await page.getByRole("row").count()) === 2, "the search finds others");
  await page.getByRole("link", { name: "Users" }).click();
  await page.getByRole("button", { name: "Password link for Grace" }).waitFor();
  expect((await page.getByRole("button", { name: "Password link for Ada" }).count()) === 0, "admins reset themselves");
  await look(page, "instance-users");
  await page.getByLabel("Name or e-mail address").fill("nothing");
  await page.getByText("No user matches").waitFor();
  await page.getByLabel("Name or e-mail address").fill("");
}

async function resetAPassword({ page, origin, look, expect }, graces) {
  await page.getByRole("button", { name: "Password link for Grace" }).click();
  await look(page, "password-link-ask");
  await page.getByRole("button", { name: "Make the link" }).click();
  const link = await page.getByLabel("Link", { exact: true }).inputValue();
  expect(link === `${origin}/#reset=a-token-of-a-link`, `the link is ${link}`);
  await look(page, "password-link");
  const answers = [
    {
      status: 400,
      json: { status: "error", message: "password: is too short", data: null, error: "invalid_request" },
    },
    { status: 404, json: { status: "error", message: "No such link.", data: null, error: "not_found" } },
    envelope(null),
  ];
  await graces.route("**/api/v1/auth/reset-password", (route) => route.fulfill(answers.shift()));
  await graces.goto(link);
  await graces.getByLabel("New password").fill("short");
  await look(graces, "password-reset");
  const submit = graces.getByRole("button", { name: "Change the password" });
  await submit.click();
  await graces.getByText("is too short").waitFor();
  await submit.click();
  await graces.getByText("This link does not work any more").waitFor();
  await look(graces, "password-reset-problem");
  await submit.click();
  await graces.getByText("Your password is changed").waitFor();
  expect(!graces.url().includes("reset"), "the token is still in the address");
  await look(graces, "password-reset-done");
  await graces.unrouteAll();
}

/** A login that is older than a day is renewed by one of two tabs, and both go on with it. */
async function renewTheLogin({ context, page, origin, expect }) {
  const renewals = [];
  context.on("request", (request) => request.url().endsWith("/auth/refresh") && renewals.push(request.url()));
  await page.goto(`${origin}/organization`);
  await page.evaluate(() => {
    const day = 86_400_000;
    localStorage.setItem("windlass-login", JSON.stringify({ from: Date.now() - 2 * day, until: Date.now() + 5 * day }));
  });
  const before = await context.cookies();
  const other = await newPage(context);
  await Promise.all([page.reload(), other.goto(`${origin}/organization`)]);
  await page.waitForTimeout(5_000);
  expect(renewals.length === 1, `two tabs renew the login ${renewals.length} times`);
  const after = await context.cookies();
  expect(before[0].value !== after[0].value, "the login is not renewed");
  // A request that the renewal overtakes cannot be timed: its refusal is put in place of the answer.
  let refusals = 1;
  await other.route("**/api/v1/organizations/users", (route) => {
    refusals -= 1;
    if (refusals < 0) return route.continue();
    return route.fulfill({
      status: 401,
      json: { status: "error", message: "This login is not valid.", data: null, error: "unauthenticated" },
    });
  });
  await other.reload();
  await other.getByRole("table", { name: "Members" }).waitFor();
  expect((await other.getByText("Your login has ended").count()) === 0, "a renewal looks like the end of the login");
  await other.unrouteAll();
  await other.close();
}
