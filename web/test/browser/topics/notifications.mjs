// Channels and the mail server: set up, tested, told what to tell; and the log of what was delivered, sent again where it was not.
import assert from "node:assert/strict";
import { look } from "../look.mjs";
import { expect } from "../pages.mjs";
import { startReceiver } from "../receiver.mjs";
import { until } from "../until.mjs";

/** What people call each kind, and where it sends to. */
const KINDS = {
  slack: { name: "Slack", path: "/services/slack" },
  discord: { name: "Discord", path: "/api/webhooks/discord" },
  teams: { name: "Microsoft Teams", path: "/workflows/teams" },
  telegram: { name: "Telegram", path: "/bot123:token/sendMessage", query: "?chat_id=-1001" },
  ntfy: { name: "ntfy", path: "/topic", sentTo: "/" },
  webhook: { name: "Another receiver", path: "/hooks/windlass" },
};
/** Nothing listens there: its deployment fails soon. */
const IMAGE = "127.0.0.1:1/team/unreachable:1";
const PAGE = 25;

export default async function notifications(platform) {
  const receiver = await startReceiver();
  try {
    const { id } = await platform.api("POST", "/deploy/application", {
      name: "unreachable",
      repository: "image",
      image: IMAGE,
    });
    const page = await platform.page("member");
    await nothingYet(platform, page);
    await setUp(page, receiver);
    await test(page, receiver);
    await rotate(platform, page);
    await choose(platform, page);
    await logOfDeliveries(platform, page, receiver, id);
    await pages(platform, page);
    await asViewer(platform);
    await mail(platform);
    await ownMail(platform);
    await remove(page);
    await platform.api("DELETE", "/deploy/application", { id, name: "unreachable" });
  } finally {
    for (const type of Object.keys(KINDS)) await platform.ask("DELETE", "/notification/webhook", { type });
    await platform.ask("DELETE", "/notification/smtp", {});
    await receiver.stop();
  }
}

async function nothingYet(platform, page) {
  await page.goto(`${platform.origin}/organization/notifications/log`);
  await page.getByRole("heading", { name: "Nothing was told yet" }).waitFor();
  await look(page, "notices-empty");
  await page.getByRole("link", { name: "Channels" }).click();
  await page.getByRole("button", { name: "Set up: Slack" }).waitFor();
  await look(page, "notifications-empty");
}

/** One of each kind. What a kind cannot be sent to is refused at its field. */
async function setUp(page, receiver) {
  const dialog = page.getByRole("dialog");
  for (const { name, path, query = "" } of Object.values(KINDS)) {
    await page.getByRole("button", { name: `Set up: ${name}` }).click();
    if (name === "Telegram") {
      await dialog.getByLabel("Address").fill(`${receiver.origin}/bot123:token`);
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByText("must end with /bot<token>/sendMessage").waitFor();
      await look(page, "channel-problem");
    }
    await dialog.getByLabel("Address").fill(receiver.origin + path + query);
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: `Test: ${name}` }).waitFor();
  }
  assert.ok(!(await page.content()).includes("/services/slack"), "the address is shown");
  assert.equal(await page.getByText("Tells of failures and what needs attention").count(), 6);
  await look(page, "notifications-set-up");
}

/** Each says what came of it, in the words of whom it was sent to. */
async function test(page, receiver) {
  for (const [type, { name, path, sentTo = path }] of Object.entries(KINDS)) {
    const card = cardOf(page, name);
    await page.getByRole("button", { name: `Test: ${name}` }).click();
    await card.getByText("The test message is delivered. Answered 200.").waitFor();
    const { body } = await receiver.newest(sentTo, 1);
    // A receiver of one's own is a program: it gets what happened, not how people are told of it.
    assert.ok(body.includes(type === "webhook" ? '"type":"test"' : "A test of Windlass"), `${type} gets ${body}`);
  }
  const { path, name } = KINDS.slack;
  receiver.says(path, 404, "no_service");
  const card = cardOf(page, name);
  await page.getByRole("button", { name: `Test: ${name}` }).click();
  await card
    .getByText("The test message is not delivered. It answered 404: there is nothing at this address")
    .waitFor();
  await card.getByRole("region", { name: "Answer" }).getByText("no_service").waitFor();
  await look(page, "notifications-test-failed");
  receiver.says(path, 200, "ok");
}

const cardOf = (page, name) =>
  page.locator("section.card").filter({ has: page.getByRole("heading", { name, exact: true }) });

async function rotate(platform, page) {
  const stored = async () => (await platform.api("GET", "/notification/webhook/secret")).secret;
  const before = await stored();
  await page.getByRole("button", { name: "Show: Signing secret" }).click();
  await page.getByText(before, { exact: true }).waitFor();
  await page.getByRole("button", { name: "New secret" }).click();
  await page.getByText("For 24 hours deliveries are signed with the present one too").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "New secret" }).click();
  await page.getByText("The secret before this one signs too.").waitFor();
  const after = await stored();
  assert.notEqual(after, before);
  await page.getByText(after, { exact: true }).waitFor();
}

/** What the server tells by itself is what "Failures" chooses. What is chosen is seen, also by another browser. */
async function choose(platform, page) {
  const preferences = () => platform.api("GET", "/notification/preferences");
  const usual = (await preferences()).channels.find(({ is_default }) => is_default).events;
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "What is told: Discord" }).click();
  await dialog.getByRole("button", { name: "None" }).click();
  await dialog.getByRole("button", { name: "Failures" }).click();
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "hidden" });
  const of = async (wanted) => (await preferences()).channels.find(({ channel }) => channel === wanted);
  assert.deepEqual([...(await of("discord")).events].sort(), [...usual].sort());

  await page.getByRole("button", { name: "What is told: Another receiver" }).click();
  await dialog.getByRole("button", { name: "None" }).click();
  await dialog.getByRole("group", { name: "Deployments" }).getByLabel("failed").check();
  await dialog.getByLabel("Applications").selectOption("some");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("Choose one at least.").waitFor();
  await dialog.getByLabel("unreachable", { exact: true }).check();
  await look(page, "notification-events");
  await dialog.getByRole("button", { name: "Save" }).click();
  await cardOf(page, "Another receiver").getByText("Tells of one kind of event of one application").waitFor();
  const { events, application_ids, recoveries } = await of("webhook");
  assert.deepEqual([events, application_ids.length, recoveries], [["deployment.failed"], 1, true]);
  await page.reload();
  await cardOf(page, "Another receiver").getByText("Tells of one kind of event of one application").click();
  await cardOf(page, "Another receiver").getByText("Deployments: failed").waitFor();
}

/** A deployment fails, and its message is refused: the log says why, and it is sent again with the same id. */
async function logOfDeliveries(platform, page, receiver, application) {
  const { path } = KINDS.webhook;
  receiver.says(path, 400, "no such room");
  await page.getByRole("link", { name: "Delivery log" }).click();
  await page.getByRole("heading", { name: "Delivery log" }).waitFor();
  await platform.redeploy({ id: application });
  // It comes while the log is looked at.
  const row = page.getByRole("row").filter({ hasText: "Another receiver" });
  await row.getByText("It answered 400: it does not take this message.").waitFor({ timeout: 30_000 });
  await look(page, "notices");
  await page.getByLabel("Channel").selectOption("webhook");
  await page.getByLabel("State").selectOption("failed");
  await page.getByLabel("Application").selectOption(application);
  await until("only one is left", async () => (await page.getByRole("row").count()) === 2);
  await page.getByLabel("State").selectOption("sent");
  await page.getByRole("heading", { name: "Nothing matches" }).waitFor();
  await page.getByLabel("State").selectOption("failed");
  await row.getByRole("link", { name: "unreachable: the deployment failed" }).click();
  await page.getByRole("region", { name: "Answer" }).getByText("no such room").waitFor();
  await page.getByText("deployment.failed").waitFor();
  await page.locator("dd").getByRole("link", { name: "unreachable" }).waitFor();
  assert.ok(!(await page.content()).includes(path), "what is secret of the address is shown");
  await look(page, "notice-failed");

  receiver.says(path, 200, "thanks");
  const id = receiver.at(path).at(-1).headers["webhook-id"];
  const count = receiver.at(path).length;
  await page.getByRole("button", { name: "Send again" }).click();
  await page.locator("main [role=status] .state", { hasText: "sent" }).waitFor({ timeout: 30_000 });
  assert.equal((await receiver.newest(path, count + 1)).headers["webhook-id"], id, "it has another id");
  await page.getByText("Try 2").waitFor();
  assert.equal(await page.getByRole("button", { name: "Send again" }).count(), 0, "what has arrived is sent again");
  await waits(platform, page, receiver, application);
}

/** What waits for its next try can be tried now. */
async function waits(platform, page, receiver, application) {
  const { path } = KINDS.webhook;
  receiver.says(path, 500, "out of order");
  await page.getByRole("link", { name: "Delivery log" }).click();
  await platform.redeploy({ id: application });
  const row = page.getByRole("row").filter({ hasText: "It answered 500: something is wrong there." });
  await row.getByText("Next try").waitFor({ timeout: 30_000 });
  await row.getByRole("link", { name: "unreachable: the deployment failed" }).click();
  await page.getByText("out of order").first().waitFor();
  receiver.says(path, 200, "thanks");
  await page.getByRole("button", { name: "Try now" }).click();
  await page.locator("main [role=status] .state", { hasText: "sent" }).waitFor({ timeout: 30_000 });
}

/** More than a page of them: a member whose role changes is told on each channel that tells failures. */
async function pages(platform, page) {
  const { email } = await platform.person("promoted");
  const members = await platform.api("GET", "/organizations/users");
  const user_id = members.find(({ user }) => user.email === email).user_id;
  const count = async () => (await platform.api("GET", "/notification/notices?limit=100")).notices.length;
  for (let turn = 0; (await count()) <= PAGE; turn += 1) {
    const before = await count();
    await platform.api("POST", "/organizations/update-user-role", { user_id, role: turn % 2 ? "viewer" : "member" });
    await until("it is told on five channels", async () => (await count()) >= before + 5);
  }
  await page.getByRole("link", { name: "Delivery log" }).click();
  const rows = page.getByRole("row");
  await until("there is a whole page", async () => (await rows.count()) === PAGE + 1);
  await page.getByRole("link", { name: "Older" }).click();
  await until("the rest is there", async () => (await rows.count()) < PAGE + 1);
  assert.ok((await page.getByRole("link", { name: "unreachable: the deployment failed" }).count()) > 0);
  assert.equal(await page.getByRole("link", { name: "Older" }).count(), 0);
  await page.getByRole("link", { name: "Newest" }).click();
  await until("there is a whole page again", async () => (await rows.count()) === PAGE + 1);
}

/** A viewer sees which channels there are and what was told, and is offered nothing. */
async function asViewer(platform) {
  const page = await platform.page("viewer");
  await page.goto(`${platform.origin}/organization/notifications`);
  await page.getByText("Tells of one kind of event of one application").waitFor();
  await page.getByText("Members, admins and owners can change these.").waitFor();
  await look(page, "notifications-viewer");
  const buttons = async () => (await page.locator("main").getByRole("button").allTextContents()).join();
  expect((await buttons()) === "", `a viewer is offered ${await buttons()}`);
  expect(!(await page.content()).includes("whsec_"), "a viewer sees the signing secret");
  await page.getByRole("link", { name: "Delivery log" }).click();
  await page.getByRole("table", { name: "Delivery log" }).waitFor();
  expect((await buttons()) === "", `a viewer is offered ${await buttons()}`);
  expect((await page.getByRole("table").getByRole("link").count()) === 0, "a viewer can open a notice");
  await look(page, "notices-viewer");
  const { notices } = await platform.api("GET", "/notification/notices");
  await page.goto(`${platform.origin}/organization/notifications/${notices[0].id}`);
  await page.getByText("Members, admins and owners see how a message was delivered.").waitFor();
}

async function mail(platform) {
  const page = await platform.page("admin");
  const { email } = await platform.person("admin");
  const card = cardOf(page, "Mail server");
  const dialog = page.getByRole("dialog");
  await page.goto(`${platform.origin}/account/notifications`);
  await page.getByText("The organization has no active mail server").waitFor();
  await page.getByRole("link", { name: "Set one up" }).click();
  await page.getByRole("button", { name: "Set up: Mail server" }).click();
  await dialog.getByLabel("Host").fill("127.0.0.1");
  await dialog.getByLabel("Encryption").selectOption("none");
  await dialog.getByLabel("Port").fill("1");
  await dialog.getByLabel("Sender address").fill("ops@example.org");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Test: Mail server" }).click();
  await card.getByText("The test message is not delivered.").waitFor();
  assert.match(await card.getByRole("status").textContent(), /127\.0\.0\.1/, "it does not say where it fails");
  await look(page, "smtp-test-failed");
  await page.getByRole("button", { name: "Change: Mail server" }).click();
  await dialog.getByLabel("Port").fill(`${platform.mailbox.port}`);
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Test: Mail server" }).click();
  await card.getByText(`The mail server has taken a test mail to ${email}.`).waitFor();
}

/** Each member chooses for themselves, and is offered only what their role may hear of. */
async function ownMail(platform) {
  const page = await platform.page("viewer");
  await page.goto(`${platform.origin}/account/notifications`);
  await page.getByText("Tells nothing").waitFor();
  await look(page, "own-mail");
  expect((await page.getByRole("group", { name: "The machine" }).count()) === 0, "a viewer can ask for the machine");
  await page.getByRole("group", { name: "Deployments" }).getByLabel("failed").check();
  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByRole("group", { name: "Deployments" }).getByLabel("succeeded").check();
  await page.getByLabel("Also the first success after a failure").uncheck();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Tells of one kind of event").waitFor();
  const { email } = await platform.api("GET", "/notification/preferences", undefined, { role: "viewer" });
  assert.deepEqual([email.events, email.recoveries], [["deployment.succeeded"], false]);
  await page.reload();
  await page.getByText("Tells of one kind of event").waitFor();
  assert.ok(await page.getByRole("group", { name: "Deployments" }).getByLabel("succeeded").isChecked());
}

async function remove(page) {
  await page.getByRole("link", { name: "Channels" }).click();
  await page.getByRole("button", { name: "Delete: Slack" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Set up: Slack" }).waitFor();
}
