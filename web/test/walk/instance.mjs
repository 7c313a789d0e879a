// This server, password links, and the login, which is renewed and shared by tabs.
import { newPage } from "../browser/pages.mjs";

const NEW_PASSWORD = "quite another password";

export async function instance({ context, page, origin, api, look, expect }, graces) {
  const grace = await api(graces, "GET", "/user");
  await openEachPart({ page, origin, look, expect });
  await resetAPassword({ page, origin, look, expect }, graces, grace.email);
  await graces.goto(`${origin}/instance`);
  await graces.getByText("This is for admins of this server").waitFor();
  await look(graces, "instance-user");
  await renewTheLogin({ context, page, origin, expect });
  await noticeAnotherUser(graces, origin, grace.email);
}

async function openEachPart({ page, origin, look, expect }) {
  await page.goto(origin);
  await page.getByRole("button", { name: "Account of Ada" }).click();
  await look(page, "account-menu");
  await page.getByRole("link", { name: "This server" }).click();
  await page.getByText("Log store").waitFor();
  await page.getByText(/^\d.* of \d.* free$/).waitFor();
  await look(page, "instance-health");
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByText("trusted-proxies").waitFor();
  await look(page, "instance-settings");
  await page.getByLabel(/Only those that differ/).check();
  await page.getByText("trusted-proxies").waitFor({ state: "detached" });
  await page.getByLabel("Search settings").fill("edge-https");
  await page.getByText("login-attempts").waitFor({ state: "detached" });
  expect((await page.getByRole("row").count()) === 2, "the search finds others");
  await page.getByRole("link", { name: "Users" }).click();
  await page.getByRole("button", { name: "Password link for Grace" }).waitFor();
  expect((await page.getByRole("button", { name: "Password link for Ada" }).count()) === 0, "admins reset themselves");
  await look(page, "instance-users");
  await page.getByLabel("Name or e-mail address").fill("nothing");
  await page.getByText("No user matches").waitFor();
  await page.getByLabel("Name or e-mail address").fill("");
}

async function resetAPassword({ page, origin, look, expect }, graces, email) {
  await page.getByRole("button", { name: "Password link for Grace" }).click();
  await look(page, "password-link-ask");
  await page.getByRole("button", { name: "Make the link" }).click();
  const { hash } = new URL(await page.getByLabel("Link", { exact: true }).inputValue());
  expect(hash.startsWith("#reset="), `the link ends with ${hash}`);
  // The server names its own address, which is not the one of the files that are walked through.
  const link = `${origin}/${hash}`;
  await look(page, "password-link");
  await graces.goto(link);
  await graces.getByLabel("New password").fill("short");
  await look(graces, "password-reset");
  const submit = graces.getByRole("button", { name: "Change the password" });
  await submit.click();
  await graces.locator("[aria-invalid=true]").waitFor();
  await graces.getByLabel("New password").fill(NEW_PASSWORD);
  await submit.click();
  await graces.getByText("Your password is changed").waitFor();
  expect(!graces.url().includes("reset"), "the token is still in the address");
  await look(graces, "password-reset-done");
  await graces.goto("about:blank");
  await graces.goto(link);
  await graces.getByLabel("New password").fill(NEW_PASSWORD);
  await submit.click();
  await graces.getByText("This link does not work any more").waitFor();
  await look(graces, "password-reset-problem");
  await graces.goto("about:blank");
  await graces.goto(origin);
  await graces.getByLabel("E-mail address").fill(email);
  await graces.getByLabel("Password").fill(NEW_PASSWORD);
  await graces.getByRole("button", { name: "Log in" }).click();
  await graces.getByRole("heading", { name: "Applications", level: 1 }).waitFor();
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

/** Another user logs in in another tab of Grace's browser: this one becomes theirs as soon as it is looked at. */
async function noticeAnotherUser(graces, origin, email) {
  await graces.goto(`${origin}/applications`);
  await graces.getByRole("button", { name: "Account of Grace" }).waitFor();
  const logIn = async (name, data) => {
    const headers = { "X-Windlass-Client": "browser" };
    await graces.context().request.post(`${origin}/api/v1/auth/login`, { headers, data });
    await graces.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
    await graces.getByRole("button", { name: `Account of ${name}` }).waitFor();
  };
  await logIn("Ada", { email: "ada@example.org", password: "correct horse battery" });
  await logIn("Grace", { email, password: NEW_PASSWORD });
}
