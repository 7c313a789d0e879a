// A person is invited by a link, registers with it, is invited to a second organization and switches between the two.
import assert from "node:assert/strict";
import { look } from "../look.mjs";
import { newContext, newPage } from "../pages.mjs";
import { PASSWORD } from "../platform.mjs";

const EMAIL = "invited@example.org";

export default async function invitation(platform) {
  const first = await platform.api("GET", "/organizations");
  const page = await newPage(await newContext(platform.browser));
  await register(platform, page);
  const second = await platform.api("POST", "/organizations", { name: "Difference Engines", description: "" });
  const invited = { email: EMAIL, role: "member", organization_id: second.id };
  const { token } = await platform.api("POST", "/organizations/invite/send", invited);
  await page.goto("about:blank");
  await page.goto(`${platform.origin}/#invitation=${token}`);
  await look(page, "invitation-logged-in");
  await page.getByRole("button", { name: "Join" }).click();
  const menu = page.getByRole("button", { name: "Organization: Difference Engines" });
  await menu.waitFor();
  await page.getByRole("link", { name: "New application" }).first().waitFor();
  await menu.click();
  await look(page, "organizations");
  await page.getByRole("button", { name: first.name, exact: true }).click();
  await page.getByRole("button", { name: `Organization: ${first.name}` }).waitFor();
  await page
    .getByText(/only lets you look|applications?$/)
    .first()
    .waitFor();
  assert.equal(await page.getByRole("link", { name: "New application" }).count(), 0, "the other role is still offered");
}

async function register(platform, page) {
  const { token } = await platform.api("POST", "/organizations/invite/send", { email: EMAIL, role: "viewer" });
  await page.goto(`${platform.origin}/#invitation=${token}`);
  await page.getByRole("heading", { name: "Join an organization" }).waitFor();
  await look(page, "invitation");
  await page.getByLabel("E-mail address").fill(EMAIL);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Register and join" }).click();
  await page.getByRole("heading", { name: "Applications", level: 1 }).waitFor();
  assert.ok(!page.url().includes("invitation"), "the token is still in the address");
}
