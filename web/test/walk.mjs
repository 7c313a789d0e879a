// Registers the first admin, opens every view at three widths, and fails on errors in the console, on what the policy refuses and on what
// axe finds. WINDLASS names the server's binary; SHOTS a folder for pictures; CHROMIUM the browser (default: Debian's); DARK=1 walks in
// the dark.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, launch, look, newPage, problems } from "./browser.mjs";
import { serve } from "./serve.mjs";
import { totp } from "./totp.mjs";
import extensions from "./walk/extensions.mjs";
import hosts from "./walk/hosts.mjs";
import organization from "./walk/organization.mjs";

const ADA = { email: "ada@example.org", password: "correct horse battery", username: "Ada" };
const GRACE = { email: "grace@example.org", password: "another good one" };
const HOSTILE = `<img src=x onerror=document.title=1><script>alert(1)</script>`;

const { origin, stop, folder } = await serve();
const browser = await launch();
const context = await browser.newContext({ colorScheme: process.env.DARK ? "dark" : "light" });
const page = await newPage(context);
let application = "";
let recoveryCodes = [];

/** The same request as the dashboard's own, with the login of the page. */
const api = (page, verb, path, body) =>
  page.evaluate(
    async ([method, address, sent]) => {
      const headers = { "X-Windlass-Client": "browser" };
      const answer = await fetch(`/api/v1${address}`, { method, headers, body: sent && JSON.stringify(sent) });
      return (await answer.json()).data;
    },
    [verb, path, body],
  );

/** A repository whose commit message is hostile, in a folder that the first organization may deploy from. */
function repository() {
  const path = join(folder, "hello");
  mkdirSync(path);
  const git = (...args) => execFileSync("git", ["-C", path, "-c", "user.name=Ada", "-c", "user.email=a@b.c", ...args]);
  git("init", "-q", "-b", "main");
  git("commit", "-q", "--allow-empty", "-m", HOSTILE);
  return path;
}

async function registerTheAdmin() {
  await page.goto(origin);
  await page.getByLabel("E-mail address").waitFor();
  await look(page, "register");
  await page.getByLabel("E-mail address").fill(ADA.email);
  await page.getByLabel("Password").fill(ADA.password);
  await page.getByLabel("Your name").fill(ADA.username);
  await page.getByRole("button", { name: "Register" }).click();
  await page.getByRole("heading", { name: "Applications", level: 1 }).waitFor();
  if (process.env.DARK) await api(page, "PATCH", "/user/settings/theme", { theme: "dark" });
  await page.reload();
  await page.getByText("No application yet").waitFor();
  await look(page, "applications-empty");
}

async function createAnApplication() {
  await page.getByRole("link", { name: "New application" }).click();
  await page.getByLabel("Repository").fill(repository());
  await page.getByLabel("Variables").fill(`GREETING=hello\nAPI_KEY="${"s".repeat(12)}"\nHOSTILE='${HOSTILE}'`);
  await look(page, "new-application");
  await page.getByRole("button", { name: "Deploy" }).click();
  await page.getByRole("heading", { name: "Log", level: 2 }).waitFor();
  application = page.url().split("/")[4];
  await page.waitForTimeout(2000);
  await look(page, "deployment-queued");
}

/** What a code host would list, put in place of the server's answers. */
async function pickARepository() {
  const envelope = (data) => ({ json: { status: "success", message: "", data } });
  const connection = { id: "c1", name: "Team", host: "gitlab", kind: "token", base_url: "", account: "ada" };
  const repositories = ["team/shop", "team/blog"].map((full_name, index) => ({
    full_name,
    clone_url: `https://git.example.org/${full_name}.git`,
    ssh_url: "",
    web_url: "",
    default_branch: "trunk",
    is_private: index === 1,
  }));
  const references = ["trunk", "next"].map((name) => ({ name, commit_hash: "" }));
  await page.route("**/api/v1/connections", (route) => route.fulfill(envelope({ connections: [connection] })));
  await page.route("**/connections/c1/repositories*", (route) =>
    route.fulfill(envelope({ repositories, next_page: null })),
  );
  await page.route("**/connections/c1/branches*", (route) => route.fulfill(envelope({ references, next_page: null })));
  await page.goto(`${origin}/applications/new`);
  await page.getByLabel("From a connection").check();
  await page.getByLabel("team/blog").check();
  await look(page, "new-application-connection");
  expect((await page.getByLabel("Name").inputValue()) === "blog", "the name is not proposed");
  expect((await page.getByLabel("Branch").inputValue()) === "trunk", "the branch is not proposed");
  await page.unrouteAll();
  await page.getByLabel("Repository address").check();
}

async function openEveryView() {
  const at = `${origin}/applications/${application}`;
  for (const [name, address, heading] of [
    ["applications", `${origin}/`, "Applications"],
    ["overview", at, "hello"],
    ["deployments", `${at}/deployments`, "hello"],
    ["logs", `${at}/logs`, "hello"],
    ["variables", `${at}/variables`, "hello"],
    ["settings", `${at}/settings`, "hello"],
    ["profile", `${origin}/account`, "Account"],
    ["security", `${origin}/account/security`, "Account"],
    ["sessions", `${origin}/account/sessions`, "Account"],
    ["keys", `${origin}/account/keys`, "Account"],
    ["appearance", `${origin}/account/appearance`, "Account"],
    ["not-found", `${origin}/nowhere`, "There is no such page"],
  ]) {
    await page.goto(address);
    await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
    await look(page, name);
  }
}

/** Without an engine nothing is built: the answers of the server are changed on their way. */
async function showWhatAnEngineWouldDo() {
  const base = await api(page, "GET", `/deploy/application?id=${application}`);
  const [real] = base.deployments;
  const made = (n, status, more) => ({
    ...real,
    id: `${n}`.repeat(8) + real.id.slice(8),
    release_id: `${n}`.repeat(8) + real.id.slice(8),
    status: { ...real.status, status },
    commit_hash: `${n}`.repeat(40),
    commit_message: n === 2 ? HOSTILE : `Change number ${n}\n\nwith more below`,
    started_at: real.created_at,
    completed_at: new Date(Date.parse(real.created_at) + n * 41_000).toISOString(),
    can_roll_back: status === "deployed",
    ...more,
  });
  const instances = [1, 2].map((ordinal) => ({ ordinal, name: "a", container_id: "b", status: "running" }));
  const failed = { failure: "build_failed", reason: `Step 3 of 5: RUN npm ci\n${HOSTILE}\nexit code 1`, id: real.id };
  const deployments = [
    made(4, "failed", failed),
    made(3, "deployed", { kind: "rollback", instances, requests_served: 1204 }),
    made(2, "deployed", { triggered_by: "push" }),
    made(1, "cancelled", { triggered_by: "api_key", reason: "A newer deployment took its place." }),
  ];
  const status = { ...base.status, status: "running" };
  const changed = { ...base, deployments, status, labels: ["web", HOSTILE], pending_fields: ["port", "branch"] };
  const envelope = (data) => ({ json: { status: "success", message: "", data } });
  const pagination = {
    current_page: 1,
    page_size: 25,
    total_count: 4,
    total_pages: 3,
    has_next: true,
    has_prev: false,
  };
  await page.route("**/api/v1/deploy/application?id=*", (route) => route.fulfill(envelope(changed)));
  await page.route("**/api/v1/deploy/application/deployments?*", (route) =>
    route.fulfill(envelope({ deployments, pagination })),
  );
  await page.route(`**/api/v1/deploy/application/deployments/${real.id}`, (route) =>
    route.fulfill(envelope(deployments[0])),
  );
  await page.goto(`${origin}/applications/${application}`);
  await page.getByText("Change number 3").first().waitFor();
  await look(page, "overview-running");
  await page.getByRole("button", { name: "Actions" }).click();
  await look(page, "actions");
  await page.getByRole("button", { name: "Stop" }).click();
  await look(page, "stop");
  await page.keyboard.press("Escape");
  await page.goto(`${origin}/applications/${application}/deployments`);
  await page.getByRole("button", { name: "Roll back" }).first().click();
  await look(page, "roll-back");
  await page.keyboard.press("Escape");
  await page.goto(`${origin}/applications/${application}/deployments/${real.id}`);
  await page.getByText("The build failed").waitFor();
  await look(page, "deployment-failed");
  await page.unrouteAll();
}

/** A long log: a part of it is drawn, its end is followed, and a reader is not dragged along. `test/logs.mjs` tries the rest. */
async function readALog() {
  const line = (n) => ({
    ...{ log: `line ${n} ${HOSTILE}`, stream: "stdout", step: "run", created_at: new Date().toISOString() },
    cursor: String(n),
  });
  const asked = [];
  await page.route(/\/deploy\/application\/logs\/[^/?]+\?/, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const before = Number(query.get("before") ?? 3001);
    const first = Math.max(1, before - Number(query.get("page_size")));
    const logs = Array.from({ length: before - first }, (_, at) => line(before - 1 - at));
    return route.fulfill({
      json: { status: "success", message: "", data: { logs, next_cursor: first > 1 ? `${first}` : "" } },
    });
  });
  await page.route("**/logs/*/follow", (route) => {
    const from = Number(route.request().headers()["last-event-id"]);
    asked.push(from);
    const events = [1, 2, 3, 4, 5].map((n) => `id: ${from + n}\ndata: ${JSON.stringify(line(from + n))}\n\n`);
    return route.fulfill({ contentType: "text/event-stream", body: events.join("") });
  });
  await page.goto(`${origin}/applications/${application}/logs`);
  await page.getByText("line 3000 ").waitFor();
  expect((await page.locator(".log-line").count()) < 150, "more lines are drawn than are seen");
  const log = page.getByRole("log");
  const distance = () => log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
  await page.getByText("line 3005 ").waitFor();
  expect((await distance()) < 5, "the end of the log is not followed");
  await look(page, "log");
  await log.evaluate((box) => box.scrollTo(0, 5000));
  await page.waitForTimeout(500);
  const top = () =>
    page.locator(".log-line").evaluateAll((rows) => rows[0].textContent + rows[0].getBoundingClientRect().top);
  const before = await top();
  await page.waitForTimeout(2500);
  expect((await top()) === before, "the reader is dragged to the end");
  expect(asked[0] === 3000 && asked[1] === 3005, `the stream goes on after ${asked}`);
  await page.getByRole("button", { name: /new lines/ }).click();
  await page.waitForTimeout(500);
  expect((await distance()) < 5, "the newest line is not gone to");
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download" }).click(),
  ]);
  expect(file.suggestedFilename() !== "", "the log cannot be downloaded");
  await page.unrouteAll({ behavior: "ignoreErrors" });
}

async function loseTheNetworkAndGetANewVersion() {
  await page.goto(origin);
  await page.getByRole("heading", { name: "Applications", level: 1 }).waitFor();
  await context.setOffline(true);
  await page.getByText("You are offline").waitFor();
  await look(page, "offline");
  await context.setOffline(false);
  await page.getByText("You are offline").waitFor({ state: "detached" });
  const other = await newPage(context);
  await other.clock.install();
  await other.goto(origin);
  await other.getByRole("heading", { name: "Applications", level: 1 }).waitFor();
  await other.route(`${origin}/`, (route) => route.fulfill({ body: `<script src="/assets/index-other.js"></script>` }));
  await other.clock.fastForward(61_000);
  await other.evaluate(() => dispatchEvent(new Event("focus")));
  await other.getByText("A new version of the dashboard is there.").waitFor();
  await other.close();
}

async function editVariables() {
  await page.goto(`${origin}/applications/${application}/variables`);
  await page.getByRole("button", { name: "Edit as text" }).first().click();
  const text = page.getByRole("textbox", { name: "At run time" });
  await text.fill("GREETING");
  await page.getByText("is not NAME=value").waitFor();
  await text.fill("GREETING=goodbye\nAPI_KEY=********\nADDED_TOKEN=12345678");
  await look(page, "variables-edit");
  await page.getByRole("button", { name: "Review changes" }).click();
  await look(page, "variables-review");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("They act at the next deployment").waitFor();
}

async function useTheKeyboard() {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("hel");
  await page.getByRole("option", { name: "hello" }).waitFor();
  await look(page, "palette");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor();
  await look(page, "shortcuts");
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("u");
  await page.getByRole("heading", { name: "Account", level: 1 }).waitFor();
}

async function makeAKeyAndASecondFactor() {
  await page.goto(`${origin}/account/keys`);
  await page.getByRole("button", { name: "New API key" }).click();
  await page.getByLabel("Name").fill("ci");
  await look(page, "key-create");
  await page.getByRole("dialog").getByRole("button", { name: "New API key" }).click();
  await page.getByRole("heading", { name: "Your new key" }).waitFor();
  await look(page, "key-made");
  await page.goto(`${origin}/account/security`);
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByLabel("Your password").fill(ADA.password);
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByAltText("QR code with the secret for your authenticator").waitFor();
  await look(page, "second-factor");
  const secret = await page.getByRole("dialog").locator("code").textContent();
  await page.getByLabel("The code that it shows").fill(totp(secret));
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.getByRole("heading", { name: "Recovery codes" }).waitFor();
  await look(page, "recovery-codes");
  recoveryCodes = await page.getByRole("dialog").getByRole("listitem").allTextContents();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
  await page.getByText("On: a login needs a code as well.").waitFor();
}

/** What the server says about a field stands at the field. */
async function showAFieldsProblem() {
  await page.goto(`${origin}/applications/${application}/settings`);
  await page.getByLabel("Replicas").fill("99");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("[aria-invalid=true]").waitFor();
  expect((await page.getByLabel("Replicas").getAttribute("aria-invalid")) === "true", "the problem is elsewhere");
  await look(page, "settings-problem");
  await page.getByRole("button", { name: "Discard" }).click();
}

/** The login ends while a draft is open: it is still there after the next login. */
async function keepADraftOverALogin() {
  await page.goto(`${origin}/applications/${application}/settings`);
  await page.getByLabel("Health path").fill("/draft");
  await page.getByRole("link", { name: "Logs" }).click();
  await page.getByRole("log").waitFor();
  await page.getByRole("link", { name: "Settings" }).click();
  expect((await page.getByLabel("Health path").inputValue()) === "/draft", "the draft is lost in another tab");
  await context.clearCookies();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Your login has ended" }).waitFor();
  await look(page, "lapsed");
  await page.getByLabel("Password").fill(ADA.password);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByLabel("Code", { exact: true }).fill(recoveryCodes[0]);
  await look(page, "login-code");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "Your login has ended" }).waitFor({ state: "detached" });
  expect((await page.getByLabel("Health path").inputValue()) === "/draft", "the draft is lost");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
}

/** Two tabs have one stream; what one changes, the other shows, but not over what is being typed. */
async function workInTwoTabs() {
  const streams = [];
  context.on("request", (request) => request.url().includes("/events") && streams.push(request.url()));
  await page.goto(`${origin}/applications/${application}/settings`);
  const other = await newPage(context);
  await other.goto(`${origin}/applications/${application}/settings`);
  await other.getByLabel("Environment").waitFor();
  await page.waitForTimeout(500);
  expect(streams.length === 1, `two tabs have ${streams.length} streams`);
  await page.getByLabel("Environment").fill("mine");
  await other.getByLabel("Environment").fill("theirs");
  await other.getByLabel("Health limit").fill("77");
  await other.getByRole("button", { name: "Save" }).click();
  await other.getByText("Saved.").waitFor();
  await page.getByText("Changed meanwhile to: theirs").waitFor({ timeout: 5000 });
  expect((await page.getByLabel("Environment").inputValue()) === "mine", "a draft was overwritten");
  expect((await page.getByLabel("Health limit").inputValue()) === "77", "what was not touched is old");
  await look(page, "conflict");
  await page.getByRole("button", { name: "Keep mine" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  await page.close();
  await other.waitForTimeout(700);
  expect(streams.length === 2, "the stream is not taken over by the tab that stays");
  await other.close();
}

/** Grace is invited as a viewer: she sees, and is offered nothing that she may not do. */
async function lookAsAViewer() {
  const own = await newPage(context);
  await own.goto(origin);
  await own.getByRole("heading", { name: "Applications", level: 1 }).waitFor();
  const { token } = await api(own, "POST", "/organizations/invite/send", { email: GRACE.email, role: "viewer" });
  const graces = await newPage(await browser.newContext());
  await graces.goto(`${origin}/#invitation=${token}`);
  await graces.getByRole("heading", { name: "Join an organization" }).waitFor();
  await look(graces, "invitation");
  await graces.getByLabel("E-mail address").fill(GRACE.email);
  await graces.getByLabel("Password").fill(GRACE.password);
  await graces.getByRole("button", { name: "Register and join" }).click();
  await graces.getByRole("link", { name: "hello", exact: true }).waitFor();
  expect(!graces.url().includes("invitation"), "the token is still in the address");
  const offered = (name) => graces.getByRole("button", { name, exact: true }).count();
  expect((await graces.getByRole("link", { name: "New application" }).count()) === 0, "a viewer is offered to create");
  await graces.getByRole("link", { name: "hello", exact: true }).click();
  await graces.getByRole("heading", { name: "hello", level: 1 }).waitFor();
  expect((await offered("Deploy")) + (await offered("Deploy now")) === 0, "a viewer is offered to deploy");
  await graces.getByRole("link", { name: "Variables" }).click();
  await graces.getByText("Values are hidden").waitFor();
  expect((await offered("Edit as text")) + (await offered("Show")) === 0, "a viewer is offered variables");
  await graces.getByRole("link", { name: "Settings" }).click();
  await graces.getByText("only lets you look").waitFor();
  expect((await offered("Save")) + (await offered("Delete…")) === 0, "a viewer is offered to change settings");
  await look(graces, "settings-viewer");
  await joinAnother(own, graces);
  await own.close();
}

/** Grace is logged in and invited to a second organization: she joins it, and switches between the two. */
async function joinAnother(own, graces) {
  const second = await api(own, "POST", "/organizations", { name: "Difference Engines", description: "" });
  const invitation = { email: GRACE.email, role: "member", organization_id: second.id };
  const { token } = await api(own, "POST", "/organizations/invite/send", invitation);
  await graces.goto("about:blank");
  await graces.goto(`${origin}/#invitation=${token}`);
  await look(graces, "invitation-logged-in");
  await graces.getByRole("button", { name: "Join" }).click();
  await graces.getByRole("button", { name: "Organization: Difference Engines" }).waitFor();
  await graces.getByRole("link", { name: "New application" }).waitFor();
  await graces.getByRole("button", { name: "Organization: Difference Engines" }).click();
  await look(graces, "organizations");
  await graces.getByRole("button", { name: "Ada's team", exact: true }).click();
  await graces.getByRole("link", { name: "hello", exact: true }).waitFor();
  expect(
    (await graces.getByRole("link", { name: "New application" }).count()) === 0,
    "the other role is still offered",
  );
}

async function changeTheLook() {
  const own = await newPage(context);
  await own.goto(`${origin}/account/appearance`);
  await own.getByLabel("Language").selectOption("de");
  await own.getByRole("heading", { name: "Konto", level: 1 }).waitFor();
  for (const theme of ["Dunkel", "Hoher Kontrast", "Wie das System"]) {
    await own.getByLabel(theme).check();
    await look(own, `theme-${theme.toLowerCase().replaceAll(" ", "-")}`);
  }
  await own.getByRole("button", { name: "Konto von Ada" }).click();
  await own.getByRole("button", { name: "Abmelden" }).click();
  await own.getByLabel("E-mail address").waitFor();
  await look(own, "login");
  expect((await own.title()) !== "1", "a hostile text has run");
}

// A kept draft makes the browser ask before it leaves.
page.on("dialog", (dialog) => dialog.accept());

/** Each file in test/walk/ walks through the views of its nouns, with what it needs made through the API. */
const FILES = { extensions, hosts, organization };

const STEPS = {
  createAnApplication,
  pickARepository,
  openEveryView,
  showWhatAnEngineWouldDo,
  readALog,
  loseTheNetworkAndGetANewVersion,
  editVariables,
  useTheKeyboard,
  makeAKeyAndASecondFactor,
  showAFieldsProblem,
  keepADraftOverALogin,
  workInTwoTabs,
  lookAsAViewer,
  changeTheLook,
};

try {
  await registerTheAdmin();
  const only = process.env.ONLY;
  for (const [name, step] of Object.entries(STEPS)) if (!only || only === name) await step();
  for (const [name, walk] of Object.entries(FILES)) {
    if (!only || only === name) await walk({ browser, context, page, origin, folder, api, look, expect });
  }
} catch (error) {
  problems.push(String(error.stack ?? error));
} finally {
  await browser.close();
  await stop();
}
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
console.log("every view opens, without errors");
