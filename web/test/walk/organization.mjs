// The organization, its audit log and the installation: as owner, admin, member and viewer.
import { newPage } from "../browser.mjs";

const GRACE = { email: "grace@example.org", password: "another good one", username: "Grace" };

export default async function organization({ browser, page, origin, api, look, expect }) {
  const walk = { browser, page, origin, api, look, expect };
  await inviteByDashboard(walk);
  await readTheAuditLog(walk);
}

/** A person with an account and a role in Ada's organization, in a browser of their own. */
export async function join({ browser, page, origin, api }, person, role) {
  const { token } = await api(page, "POST", "/organizations/invite/send", { email: person.email, role });
  const theirs = await newPage(await browser.newContext());
  await theirs.goto(origin);
  await api(theirs, "POST", "/auth/register", { ...person, token });
  return theirs;
}

const open = async (page, address, heading) => {
  await page.goto(address);
  await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
};

async function inviteByDashboard(walk) {
  const { page, origin, look, expect } = walk;
  await open(page, `${origin}/organization`, "Ada's team");
  await page.getByRole("table", { name: "Members" }).waitFor();
  await look(page, "members-alone");
  await page.goto(`${origin}/organization/invitations`);
  await page.getByText("No open invitations").waitFor();
  await look(page, "invitations-empty");
  await page.getByRole("link", { name: "Members" }).click();
  await page.getByRole("link", { name: "Invite" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("E-mail address").fill("ada@example.org");
  await look(page, "invite");
  await dialog.getByRole("button", { name: "Make the link" }).click();
  await dialog.getByText("is a member of the organization already").waitFor();
  expect((await dialog.locator("[aria-invalid=true]").count()) === 1, "the problem is not at the address");
  await look(page, "invite-problem");
  await dialog.getByLabel("E-mail address").fill("alan@example.org");
  await dialog.getByLabel("viewer").check();
  await dialog.getByRole("button", { name: "Make the link" }).click();
  await page.getByRole("heading", { name: "The link for alan@example.org" }).waitFor();
  const link = await page.getByLabel("Link", { exact: true }).inputValue();
  expect(link.includes("/#invitation="), `the link is ${link}`);
  await look(page, "invitation-link");
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByRole("cell", { name: "viewer" }).waitFor();
  const graces = await join(walk, GRACE, "member");
  await page.reload();
  await look(page, "invitations");
  await page.getByRole("button", { name: "Withdraw the invitation of alan@example.org" }).click();
  await look(page, "invitation-withdraw");
  await dialog.getByRole("button", { name: "Withdraw" }).click();
  await page.getByText("No open invitations").waitFor();
  await graces.context().close();
}

async function readTheAuditLog({ page, origin, look }) {
  await open(page, `${origin}/audit`, "Audit log");
  await page.getByText("invited alan@example.org as viewer").click();
  await page.locator("details[open]").getByText("From the address").waitFor();
  await look(page, "audit");
}
