// An organization of its own, so that nothing that others have made disturbs it: its parts, its audit log and this server, as owner,
// admin, member and viewer.
import { newPage } from "../browser/pages.mjs";
import { audit } from "./audit.mjs";
import { instance } from "./instance.mjs";
import { registries } from "./registries.mjs";

const GRACE = { email: "grace@weavers.example.org", password: "another good one", username: "Grace" };
const CHANNELS = ["Slack", "Discord", "Microsoft Teams", "Telegram", "ntfy", "Another receiver"];

export default async function organization(given) {
  const walk = { ...given, team: await found(given) };
  await inviteByDashboard(walk);
  const graces = await join(walk);
  await changeMembers(walk);
  await revokeAKey(walk);
  await storeChannels(walk);
  await registries(walk);
  await lookAsEachRole(walk, graces);
  await audit(walk);
  await instance(walk, graces);
  await lookInGerman(walk);
  await describe(walk);
  await leaveAndBegin(walk, graces);
  await deleteIt(walk);
}

/** From the menu. The id of the new organization. */
async function found({ page, origin, api, look, expect }) {
  await page.goto(origin);
  await page.getByRole("button", { name: /^Organization: / }).click();
  await look(page, "organization-menu");
  await page.getByRole("button", { name: "New organization" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Weavers");
  await look(page, "organization-create");
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "Weavers", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Organization: Weavers" }).waitFor();
  expect(page.url().endsWith("/organization"), `the new organization opens at ${page.url()}`);
  const memberships = await api(page, "GET", "/user/organizations");
  return memberships.find((one) => one.organization.name === "Weavers").organization_id;
}

/** Grace, with an account and a role in the organization, in a browser of her own. */
async function join({ browser, page, origin, api, team }) {
  const invitation = { email: GRACE.email, role: "member", organization_id: team };
  const { token } = await api(page, "POST", "/organizations/invite/send", invitation);
  const context = await browser.newContext({ colorScheme: process.env.DARK ? "dark" : "light" });
  const theirs = await newPage(context);
  await theirs.goto(origin);
  await api(theirs, "POST", "/auth/register", { ...GRACE, token });
  return theirs;
}

async function inviteByDashboard({ page, origin, look, expect }) {
  await page.goto(`${origin}/organization`);
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
  await dialog.getByLabel("E-mail address").fill("guest@example.org");
  await dialog.getByLabel("viewer").check();
  await dialog.getByRole("button", { name: "Make the link" }).click();
  await page.getByRole("heading", { name: "The link for guest@example.org" }).waitFor();
  const link = await page.getByLabel("Link", { exact: true }).inputValue();
  expect(link.includes("/#invitation="), `the link is ${link}`);
  await look(page, "invitation-link");
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByRole("cell", { name: "viewer" }).waitFor();
  expect(!page.url().includes("invite"), "the form would open again");
  await look(page, "invitations");
  await page.getByRole("button", { name: "New link for guest@example.org" }).click();
  await dialog.getByRole("button", { name: "Make the link" }).click();
  await page.getByRole("heading", { name: "The link for guest@example.org" }).waitFor();
  expect((await page.getByLabel("Link", { exact: true }).inputValue()) !== link, "the link is the old one");
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Withdraw the invitation for guest@example.org" }).click();
  await look(page, "invitation-withdraw");
  await dialog.getByRole("button", { name: "Withdraw" }).click();
  await page.getByText("No open invitations").waitFor();
}

async function changeMembers({ page, origin, look, expect }) {
  await page.goto(`${origin}/organization`);
  await page.getByText("You are the only owner").waitFor();
  expect((await page.getByRole("button", { name: "Leave" }).count()) === 0, "the last owner is offered to leave");
  expect((await page.getByRole("button", { name: "Change role: Ada" }).count()) === 0, "the last owner can step down");
  await look(page, "members");
  await page.getByRole("button", { name: "Change role: Grace" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("viewer").check();
  await dialog.getByText("Open invitations that this member has sent").waitFor();
  await look(page, "role");
  await dialog.getByLabel("owner").check();
  await dialog.getByRole("button", { name: "Change role" }).click();
  await page.getByText("Grace is owner now.").waitFor();
  await page.getByRole("button", { name: "Leave" }).waitFor();
  await page.getByRole("button", { name: "Change role: Grace" }).click();
  await dialog.getByLabel("member").check();
  await dialog.getByRole("button", { name: "Change role" }).click();
  await page.getByText("Grace is member now.").waitFor();
  await page.getByRole("button", { name: "Remove Grace" }).click();
  await look(page, "member-remove");
  await page.keyboard.press("Escape");
  const focused = await page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
  expect(focused === "Remove Grace", `the focus is at ${focused}`);
}

async function revokeAKey({ page, origin, api, look, team }) {
  await page.goto(`${origin}/organization/keys`);
  await page.getByText("No API keys").waitFor();
  await look(page, "organization-keys-empty");
  const key = { name: "ci", permissions: ["deploy:read", "deploy:create"], organization_id: team };
  await api(page, "POST", "/auth/api-keys", key);
  await page.reload();
  await page.getByRole("cell", { name: "Ada" }).waitFor();
  await look(page, "organization-keys");
  await page.getByRole("button", { name: "Revoke: ci" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("No API keys").waitFor();
}

async function storeChannels({ page, origin, look, expect }) {
  await page.goto(`${origin}/organization/notifications`);
  await page.getByRole("button", { name: "Set up: Slack" }).waitFor();
  await look(page, "notifications-empty");
  await page.getByRole("button", { name: "Set up: Slack" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Address").fill("https://ada:secret@hooks.example.org/x");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.locator("[aria-invalid=true]").waitFor();
  await look(page, "webhook-problem");
  await dialog.getByLabel("Address").fill("https://hooks.slack.com/services/T0/B0/verysecret");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("https://hooks.slack.com/********").waitFor();
  expect(!(await page.content()).includes("verysecret"), "the address is shown");
  await page.getByRole("button", { name: "Change: Slack" }).click();
  await dialog.getByLabel("Active").uncheck();
  await look(page, "webhook-change");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("paused").waitFor();
  await page.getByRole("button", { name: "Set up: Mail server" }).click();
  await dialog.getByLabel("Host").fill("mail.example.org");
  await dialog.getByLabel("User name").fill("ops");
  await dialog.getByLabel("Password").fill("very secret");
  await dialog.getByLabel("Sender address").fill("ops@example.org");
  await look(page, "smtp");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("mail.example.org:587").waitFor();
  await page.getByRole("button", { name: "Change: Mail server" }).click();
  await dialog.getByLabel("Port").fill("2525");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("is needed again").waitFor();
  await look(page, "smtp-problem");
  await page.keyboard.press("Escape");
  await look(page, "notifications");
  await page.getByRole("button", { name: "Delete: Slack" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Set up: Slack" }).waitFor();
}

/** What each role is offered, in Grace's browser. Ada changes her role behind it. */
async function lookAsEachRole({ page, origin, api, look, expect, team }, graces) {
  const { id: user_id } = await api(graces, "GET", "/user");
  const become = (role) =>
    api(page, "POST", "/organizations/update-user-role", { user_id, role, organization_id: team });
  const has = (name) => graces.getByRole("button", { name }).count();
  const tabs = () => graces.getByRole("navigation", { name: "Parts of the organization" }).getByRole("link").count();
  const offers = {
    viewer: { tabs: 7, role: 0, invite: 0, setUp: 0, mail: 0, save: 0 },
    member: { tabs: 7, role: 0, invite: 0, setUp: 6, mail: 0, save: 0 },
    admin: { tabs: 8, role: 1, invite: 1, setUp: 6, mail: 1, save: 1 },
    owner: { tabs: 8, role: 2, invite: 1, setUp: 6, mail: 1, save: 1 },
  };
  for (const [role, offered] of Object.entries(offers)) {
    await become(role);
    const found = {};
    await graces.goto(`${origin}/organization`);
    await graces.getByRole("table", { name: "Members" }).waitFor();
    found.tabs = await tabs();
    found.role = await has(/^Change role:/);
    expect((await has("Leave")) === 1, `as ${role} leaving is not offered`);
    await look(graces, `members-${role}`);
    await graces.goto(`${origin}/organization/invitations`);
    await graces.getByText("No open invitations").waitFor();
    found.invite = await has("Invite");
    await graces.goto(`${origin}/organization/notifications`);
    for (const name of CHANNELS) await graces.getByRole("heading", { name }).waitFor();
    found.setUp = await has(/^Set up: (?!Mail)/);
    found.mail = await graces.getByText("mail.example.org:587").count();
    if (role === "viewer") await look(graces, "notifications-viewer");
    await graces.goto(`${origin}/organization/about`);
    await graces.getByRole("heading", { name: "What it is called" }).waitFor();
    found.save = await has("Save");
    if (role === "viewer") await look(graces, "about-viewer");
    expect(JSON.stringify(found) === JSON.stringify(offered), `${role} is offered ${JSON.stringify(found)}`);
  }
  await become("viewer");
  await graces.goto(`${origin}/organization/keys`);
  await graces.getByText("Keys of all members are shown to admins and owners.").waitFor();
  await look(graces, "organization-keys-viewer");
  await graces.goto(`${origin}/organization/invitations`);
  await graces.getByText("Admins and owners can invite people.").waitFor();
  await look(graces, "invitations-viewer");
}

/** Grace leaves her only organization, and makes one of her own. */
async function leaveAndBegin({ origin, look }, graces) {
  await graces.goto(`${origin}/organization`);
  await graces.getByRole("button", { name: "Leave" }).click();
  await look(graces, "leave");
  await graces.getByRole("dialog").getByRole("button", { name: "Leave" }).click();
  await graces.getByText("You are in no organization").waitFor();
  await look(graces, "homeless");
  await graces.getByRole("button", { name: "New organization" }).click();
  await graces.getByRole("dialog").getByLabel("Name").fill("Compilers");
  await graces.getByRole("button", { name: "Create" }).click();
  await graces.getByRole("heading", { name: "Compilers", level: 1 }).waitFor();
  await graces.context().close();
}

/** Its words are longer. */
async function lookInGerman({ page, origin, api, look }) {
  await api(page, "PATCH", "/user/settings/language", { language: "de" });
  for (const [name, address, heading] of [
    ["members", "/organization", "Weavers"],
    ["notifications", "/organization/notifications", "Weavers"],
    ["status-page", "/organization/status", "Weavers"],
    ["audit", "/audit", "Protokoll"],
  ]) {
    await page.goto(`${origin}${address}`);
    await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
    await look(page, `${name}-german`);
  }
  await api(page, "PATCH", "/user/settings/language", { language: "en" });
}

async function describe({ page, origin, look }) {
  await page.goto(`${origin}/organization/about`);
  await page.getByLabel("Name").fill("Analytical Weavers");
  await page.getByLabel("Description").fill("Weaves patterns");
  await look(page, "about");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Organization: Analytical Weavers" }).waitFor();
  await page.getByRole("button", { name: "Delete…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Type the name to confirm").fill("Analytical Weavers");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await dialog.getByText("still has 1 other member").waitFor();
  await look(page, "organization-delete-refused");
}

/** Once Grace has left. Ada then is in her first organization again. */
async function deleteIt({ page, origin, look, expect }) {
  await page.goto(`${origin}/organization/about`);
  await page.getByRole("button", { name: "Delete…" }).click();
  const dialog = page.getByRole("dialog");
  expect(await dialog.getByRole("button", { name: "Delete" }).isDisabled(), "it can be deleted without its name");
  await dialog.getByLabel("Type the name to confirm").fill("Analytical Weavers");
  await look(page, "organization-delete");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("Analytical Weavers is deleted.").waitFor();
  await page.getByRole("button", { name: "Organization: Ada's team" }).waitFor();
  await page.getByRole("heading", { name: "Applications", level: 1 }).waitFor();
}
