// The audit log: its filters, pages and what each entry holds.
const envelope = (data) => ({ json: { status: "success", message: "", data } });

export async function audit({ page, origin, api, look, expect, team }) {
  await page.goto(`${origin}/audit`);
  await page.getByText("invited guest@example.org as viewer").first().click();
  await page.locator("details[open]").getByText("From the address").waitFor();
  await look(page, "audit");
  await page.locator("details[open]").getByRole("link", { name: "Open: invitation" }).click();
  await page.getByText("No open invitations").waitFor();
  await filter({ page, origin, look, expect });
  await turnPages({ page, origin, api, look, expect, team });
  await verify({ page, origin, look });
}

async function filter({ page, origin, look, expect }) {
  await page.goto(`${origin}/audit`);
  await page.getByLabel("Who").fill("Grace");
  await page.getByText("Grace joined as member").waitFor();
  await page.getByText("invited guest").first().waitFor({ state: "detached" });
  expect(page.url().includes("actor=Grace"), "the filter is not in the address");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByLabel("About").selectOption("member");
  await page.getByLabel("Action").selectOption("update");
  await page.getByText("changed the role of grace@weavers.example.org").first().waitFor();
  await page.getByText("invited guest").first().waitFor({ state: "detached" });
  await page.reload();
  await page.getByText("changed the role of grace@weavers.example.org").first().waitFor();
  await look(page, "audit-filtered");
  await page.getByLabel("Until").fill("2020-01-01");
  await page.getByText("No entry matches these filters").waitFor();
  await look(page, "audit-nothing");
  await page.getByRole("button", { name: "Clear filters" }).last().click();
  await page.getByLabel("Log of").selectOption("instance");
  await page.getByText("Grace registered").first().waitFor();
  await look(page, "audit-instance");
}

async function turnPages({ page, origin, api, look, expect, team }) {
  for (let n = 0; n < 45; n += 1) await api(page, "PUT", "/organizations", { id: team, description: `Number ${n}` });
  await page.goto(`${origin}/audit`);
  await page.getByText("Page 1 of 2").waitFor();
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("Page 2 of 2").waitFor();
  await page.getByText("created the organization").first().waitFor();
  await look(page, "audit-second-page");
  await page.goBack();
  await page.getByText("Page 1 of 2").waitFor();
  expect(!page.url().includes("page="), "going back does not lead to the first page");
}

async function verify({ page, origin, look }) {
  await page.goto(`${origin}/audit`);
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText(/^All \d+ entries are as they were written\.$/).waitFor();
  await look(page, "audit-verified");
  // No entry can be changed by hand from here, so this answer is put in place of the server's.
  const broken = { entries: 16, broken_at: 17, problem: "it is not what was written, or not in its place" };
  await page.route("**/api/v1/audit/verify", (route) => route.fulfill(envelope(broken)));
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("The log was changed by hand at entry 17").waitFor();
  await look(page, "audit-broken");
  await page.unrouteAll();
}
