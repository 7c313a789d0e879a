// Extensions: the catalog, what one would do, what was run, what is installed, and the text of an own one. The server of the walk has no
// container engine. Steps that are commands need none: what is run and installed here is real, on the machine of the walk, inside a
// folder of its own.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newPage } from "../browser/pages.mjs";

const HOSTILE = "<img src=x onerror=document.title=1>";

export default async function walk(walked) {
  // The server refuses to write into its own data folder.
  const folder = mkdtempSync(join(tmpdir(), "windlass-extensions-"));
  await walkIn({ ...walked, folder }).finally(() => rmSync(folder, { recursive: true, force: true }));
}

async function walkIn(given) {
  await lookAtWhatIsEmpty(given);
  await browseTheCatalog(given);
  await planARun(given);
  await runToTheEnd(given);
  await runAndFail(given);
  await cancelARun(given);
  await installUpdateGoBack(given);
  await showWhatAnEngineWouldRun(given);
  await forkAndEdit(given);
  await writeOne(given);
  await lookAsAViewer(given);
  await readInGerman(given);
}

const commandsText = (id, type, folder, more = "") => `metadata:
  id: ${id}
  name: "${id} ${HOSTILE}"
  description: Writes a note into a folder.
  author: Ada
  icon: 🗒
  category: Utility
  type: ${type}
  version: 1.0.0
variables:
  note: { type: string, default: hello, description: What is written, validation_pattern: "[a-z ]+" }
  seconds: { type: integer, default: 0, description: How long it takes }
  fails: { type: boolean, default: false, description: Whether the last step fails }
  words: { type: array, description: Further words }
  token: { type: secret, description: Never shown }
${more}execution:
  run:
    - name: Write the note
      type: file
      properties: { action: write, dest: ${folder}/${id}.txt, content: "{{ note }}", mode: "0644" }
    - name: Read it
      type: command
      properties: { cmd: "cat ${folder}/${id}.txt; echo; echo {{ words }} {{ token }}; sleep {{ seconds }}", revert_cmd: "echo nothing" }
    - name: Fail
      type: command
      condition: fails
      properties: { cmd: "echo '${HOSTILE}' >&2; exit 3" }
  validate:
    - name: See that it is there
      type: command
      properties: { cmd: "test -s ${folder}/${id}.txt" }
`;

async function lookAtWhatIsEmpty({ page, origin, look }) {
  await page.goto(`${origin}/extensions/installations`);
  await page.getByText("Nothing is installed yet").waitFor();
  await look(page, "installations-empty");
  await page.goto(`${origin}/extensions/executions`);
  await page.getByText("Nothing has been run yet").waitFor();
  await look(page, "executions-empty");
  for (const address of ["no-such-extension", "installations/nothing", "executions/nothing"]) {
    await page.goto(`${origin}/extensions/${address}`);
    await page.getByText("This did not work").waitFor();
  }
  await look(page, "extension-gone");
}

async function browseTheCatalog({ page, origin, look, expect }) {
  await page.goto(`${origin}/extensions`);
  await page.getByRole("link", { name: "Gitea", exact: true }).waitFor();
  await look(page, "extensions-catalog");
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText("Page 2 of 2").waitFor();
  await page.getByLabel("Category").selectOption("Database");
  await page.getByRole("link", { name: "PostgreSQL", exact: true }).waitFor();
  await page.getByLabel("Search").fill("elephant and no other word");
  await page.getByText("No extension matches these filters").waitFor();
  await look(page, "extensions-nothing");
  await page.getByRole("link", { name: "Clear filters" }).click();
  await page.getByLabel("Search").fill("swap");
  await page.getByRole("link", { name: "Swap file" }).click();
  await page.getByText("Needs host access").waitFor();
  await look(page, "extension-host");
  expect((await page.getByText("runs a command on the host").count()) > 0, "what needs host access is not told");
}

async function planARun({ page, origin, look, expect }) {
  await page.goto(`${origin}/extensions/gitea`);
  await page.getByRole("heading", { name: "Gitea", level: 1 }).waitFor();
  await look(page, "extension-overview");
  await page.getByRole("link", { name: "Install…" }).click();
  await page.getByText("Fill in what is required").waitFor();
  await look(page, "extension-run-empty");
  await page.getByRole("button", { name: "Install" }).click();
  await page.getByText("is required; give a value").waitFor();
  const focused = await page.evaluate(() => document.activeElement?.getAttribute("name"));
  expect(focused === "domain", `the focus is at ${focused}, not at what is wrong`);
  await page.getByLabel("Domain").fill("git.localhost");
  await page.getByText("gitea/gitea:").first().waitFor();
  await page.getByLabel("Name of the installation").fill("Not a name");
  await page.locator("[aria-invalid=true]").waitFor();
  await page.getByLabel("Name of the installation").fill("gitea");
  await page.getByText("gitea/gitea:").first().waitFor();
  await look(page, "extension-plan");
}

/** Where it becomes another one, the page says why. */
async function stateBecomes(page, state) {
  const badge = page.locator("h1 + [role=status]").getByText(state, { exact: true });
  await badge.waitFor({ timeout: 15_000 }).catch(async () => {
    throw new Error(`not ${state}: ${await page.locator("main").textContent()}`);
  });
}

async function runToTheEnd({ page, origin, folder, api, look, expect }) {
  await api(page, "POST", "/extensions", { yaml_content: commandsText("note", "run", folder) });
  await page.goto(`${origin}/extensions/note/run`);
  await page.getByText("runs a command on the host").first().waitFor();
  const run = page.getByRole("button", { name: "Run", exact: true });
  expect(await run.isDisabled(), "what changes the machine can be run unread");
  await page.getByLabel("Note").fill("UPPER");
  await page.getByText("Pattern: [a-z ]+").waitFor();
  await look(page, "extension-run-problem");
  await page.getByLabel("Note").fill("good evening");
  await page.getByLabel("Words").fill("one\ntwo");
  await page.getByRole("textbox", { name: "Token" }).fill("not for any eyes");
  await page.getByText("runs a command on the host").first().waitFor();
  await page.getByLabel("I have read").check();
  await look(page, "extension-run-host");
  await run.click();
  await stateBecomes(page, "completed");
  await page.getByText("one,two ********").waitFor();
  await look(page, "execution-completed");
  expect((await page.getByText("not for any eyes").count()) === 0, "a secret is shown");
}

async function runAndFail({ page, origin, look, expect }) {
  await page.goto(`${origin}/extensions/note/run`);
  await page.getByLabel("Fails").check();
  await page.getByLabel("I have read").check();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("heading", { name: "It failed at the step “Fail”" }).waitFor();
  await page.getByText("undone", { exact: false }).first().waitFor();
  await look(page, "execution-failed");
  await page.getByRole("link", { name: "Try again…" }).click();
  await page.getByRole("heading", { name: "What it would do" }).waitFor();
  await page.goto(`${origin}/extensions/executions`);
  await page.getByRole("link", { name: "Run", exact: true }).first().waitFor();
  await look(page, "executions");
  await page.getByLabel("State").selectOption("failed");
  await page.getByText("completed").last().waitFor({ state: "hidden" });
  expect((await page.getByRole("row").count()) === 2, "the filter leaves others in");
  await page.goto(`${origin}/extensions/note/executions`);
  await page.getByRole("link", { name: "Run", exact: true }).first().waitFor();
  await look(page, "extension-executions");
}

async function cancelARun({ page, origin, look }) {
  await page.goto(`${origin}/extensions/note/run`);
  await page.getByLabel("Seconds").fill("120");
  await page.getByLabel("I have read").check();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await stateBecomes(page, "running");
  await page.getByText("hello").first().waitFor();
  await look(page, "execution-running");
  await page.getByRole("button", { name: "Stop…" }).click();
  await look(page, "execution-cancel");
  await page.getByRole("button", { name: "Stop and undo" }).click();
  await stateBecomes(page, "cancelled");
  await look(page, "execution-cancelled");
}

async function installUpdateGoBack({ page, origin, folder, api, look, expect }) {
  const made = await api(page, "POST", "/extensions", { yaml_content: commandsText("board", "install", folder) });
  await page.goto(`${origin}/extensions/board/run`);
  await page.getByLabel("I have read").check();
  await page.getByRole("button", { name: "Install", exact: true }).click();
  await stateBecomes(page, "completed");
  await page.goto(`${origin}/extensions/board/run`);
  await page.getByLabel("Name of the installation").waitFor();
  expect((await page.getByLabel("Name of the installation").inputValue()) === "board-2", "a taken name is proposed");
  await page.goto(`${origin}/extensions?search=board`);
  await page.getByText("installed", { exact: true }).waitFor();
  await look(page, "extensions-installed");
  const changed = commandsText("board", "install", folder, "  colour: { type: string, default: green }\n");
  await api(page, "PUT", `/extensions/${made.id}`, { yaml_content: changed.replace("1.0.0", "1.1.0") });
  await page.goto(`${origin}/extensions/installations`);
  await page.getByText("update available").waitFor();
  await look(page, "installations");
  await page.getByRole("link", { name: "board", exact: true }).click();
  await page.getByText("another text by now").waitFor();
  await look(page, "installation-commands");
  await page.getByRole("link", { name: "Update…" }).click();
  await page.getByText("Version 1.0.0 becomes 1.1.0").waitFor();
  await page.getByLabel("Note").fill("good night");
  await page.locator("ins").getByText("good night").waitFor();
  await page.getByLabel("I have read").check();
  await look(page, "installation-update");
  await page.getByRole("button", { name: "Update", exact: true }).click();
  await stateBecomes(page, "completed");
  await page.getByRole("link", { name: "To the installation" }).click();
  await page.getByRole("button", { name: "Roll back…" }).click();
  await page.locator("del").getByText("good night").waitFor();
  await look(page, "installation-roll-back");
  await page.getByRole("button", { name: "Roll back", exact: true }).click();
  await page.getByRole("heading", { name: /^Rollback/ }).waitFor();
  await stateBecomes(page, "completed");
  await page.getByRole("link", { name: "To the installation" }).click();
  await page.getByRole("link", { name: "Executions" }).last().click();
  await page.getByRole("link", { name: "Rollback" }).waitFor();
  await look(page, "installation-executions");
}

/** Services, addresses and volumes are the container engine's: the answers of the server are changed on their way. */
async function showWhatAnEngineWouldRun({ page, origin, api, look, expect }) {
  const envelope = (data) => ({ json: { status: "success", message: "", data } });
  const { installations, pagination } = await api(page, "GET", "/extensions/installations");
  const [real] = installations;
  const service = (name, status) => ({
    ...{ name, status, image: `example/${name}:3.2`, image_id: "sha256:0", container_name: `board-${name}` },
    ...{ address: "10.9.0.4", host: `${name}.board` },
  });
  const changed = {
    ...real,
    services: [service("web", "running"), service("database", "unhealthy")],
    domains: [{ domain: "board.localhost", service: "web", port: 80 }],
    volumes: [
      { id: "1", name: "data", size_bytes: 734_003_200 },
      { id: "2", name: "uploads", size_bytes: null },
    ],
  };
  const line = (n) => ({
    ...{ id: `${n}`, installation_id: real.id, service: n % 3 ? "web" : "database", sequence: n },
    ...{ message: `line ${n} ${HOSTILE}`, stream: n % 7 ? "stdout" : "stderr", created_at: new Date().toISOString() },
  });
  let newest = 5_003;
  await page.route("**/api/v1/extensions/installations?*", (route) =>
    route.fulfill(envelope({ installations: [changed], pagination })),
  );
  await page.route(`**/api/v1/extensions/installations/${real.id}`, (route) =>
    route.request().method() === "GET" ? route.fulfill(envelope(changed)) : route.fallback(),
  );
  await page.route(`**/api/v1/extensions/installations/${real.id}/logs?*`, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const after = Number(query.get("after"));
    const count = Math.max(0, Math.min(newest - after, Number(query.get("limit"))));
    const logs = Array.from({ length: count }, (_, at) => line(after + 1 + at));
    return route.fulfill(envelope({ logs, next_after: after + count }));
  });
  await page.goto(`${origin}/extensions/installations`);
  await page.getByText("1 of 2 running").waitFor();
  await look(page, "installations-running");
  await page.goto(`${origin}/extensions/installations/${real.id}`);
  await page.getByText("web.board").waitFor();
  await look(page, "installation");
  await page.getByRole("button", { name: "Uninstall…" }).click();
  await page.getByLabel("data, 700 MiB").check();
  const uninstall = page.getByRole("dialog").getByRole("button", { name: "Uninstall" });
  expect(await uninstall.isDisabled(), "it can be uninstalled without its name");
  await look(page, "installation-uninstall");
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Logs" }).click();
  await page.getByText("line 5003 ").waitFor();
  newest = 5_010;
  await page.getByText("line 5010 ").waitFor();
  const log = page.getByRole("log");
  const distance = () => log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
  expect((await distance()) < 10, "the end of the log is not followed");
  await look(page, "installation-logs");
  await log.evaluate((box) => box.scrollTo(0, 300));
  await page.getByText("Paused while you read").waitFor();
  const top = () => log.evaluate((box) => [...box.children].find((row) => row.offsetTop >= box.scrollTop).textContent);
  const before = await top();
  await page.getByRole("button", { name: "Earlier lines" }).click();
  await page.waitForTimeout(500);
  expect((await top()) === before, "earlier lines move what is read");
  await page.getByRole("button", { name: "To the newest line" }).click();
  await page.getByLabel("Service").selectOption("database");
  expect((await log.getByText(/^web$/).count()) === 0, "other services are still shown");
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await uninstallForReal({ page, origin, id: real.id, expect });
}

async function uninstallForReal({ page, origin, id, expect }) {
  await page.goto(`${origin}/extensions/installations/${id}`);
  await page.getByRole("button", { name: "Uninstall…" }).click();
  await page.getByLabel("Type the name to confirm").fill("board");
  await page.getByRole("dialog").getByRole("button", { name: "Uninstall" }).click();
  await page.getByRole("heading", { name: /^Removal/ }).waitFor();
  await stateBecomes(page, "completed");
  await page.goto(`${origin}/extensions/installations`);
  await page.getByText("Nothing is installed yet").waitFor();
  expect((await page.title()) !== "1", "a hostile text has run");
}

async function forkAndEdit({ page, origin, api, look, expect }) {
  await page.goto(`${origin}/extensions/valkey/text`);
  await page.getByText("comes with Windlass and cannot be changed").waitFor();
  await look(page, "text-verified");
  await page.getByRole("button", { name: "Fork" }).click();
  await page.getByText("The fork is there").waitFor();
  await page.waitForURL("**/extensions/valkey-fork/text");
  const text = page.getByLabel("Text of the extension");
  const original = await text.inputValue();
  await look(page, "text-fork");
  await text.focus();
  await page.keyboard.press("Tab");
  const isInside = () => text.evaluate((field) => field === document.activeElement);
  expect(!(await isInside()), "Tab is caught before anything is typed");
  await text.click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("Tab");
  expect((await text.inputValue()).startsWith("  metadata"), "Tab does not indent");
  await page.keyboard.press("Shift+Tab");
  expect((await text.inputValue()) === original, "Shift and Tab does not take it back");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  expect(!(await isInside()), "the keyboard is trapped in the text");
  await text.fill(original.replace("  author:", "  autor:").replace("type: wait", "type: wat"));
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("things are wrong").waitFor();
  await look(page, "text-problems");
  await page.getByRole("button", { name: /did you mean wait/ }).click();
  const at = await text.evaluate((field) => field.value.slice(field.selectionStart, field.selectionStart + 3));
  expect(at === "wat", `a problem leads to ${at}`);
  await page.getByRole("button", { name: "Save as a draft" }).click();
  await page.getByText("Saved as a draft").waitFor();
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByText("This is a draft").waitFor();
  await look(page, "extension-draft");
  await page.getByRole("link", { name: "To the text" }).click();
  await text.fill(original.replace("version: 1.0.0", "version: 1.0.1"));
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByText("This is a draft").waitFor();
  await page.getByRole("link", { name: "Text", exact: true }).click();
  expect((await text.inputValue()).includes("1.0.1"), "the draft is lost in another tab");
  await api(page, "PUT", "/extensions/valkey-fork", { yaml_content: original.replace("1.0.0", "2.0.0") });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("The text was changed meanwhile").waitFor();
  await look(page, "text-conflict");
  expect((await text.inputValue()).includes("1.0.1"), "a draft was overwritten");
  await page.getByRole("button", { name: "Keep mine" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved.", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Actions" }).click();
  await page.getByRole("button", { name: "Delete…" }).click();
  await look(page, "extension-delete");
  await page.getByLabel("Type the id to confirm").fill("valkey-fork");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("is deleted").waitFor();
}

async function writeOne({ page, origin, look, expect }) {
  await page.goto(`${origin}/extensions/new`);
  const text = page.getByLabel("Text of the extension");
  await text.waitFor();
  await look(page, "extension-new");
  const example = await text.inputValue();
  await text.fill(example.replace("id: my-extension", "id: gitea"));
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("gitea is taken").waitFor();
  await look(page, "extension-taken");
  await text.fill(example);
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "My extension", level: 1 }).waitFor();
  expect(page.url().endsWith("/extensions/my-extension"), "the new extension is not shown");
  await look(page, "extension-own");
}

async function lookAsAViewer({ browser, page, origin, api, look, expect }) {
  const email = "grace@example.org";
  const { token } = await api(page, "POST", "/organizations/invite/send", { email, role: "viewer" });
  const context = await browser.newContext({ colorScheme: process.env.DARK ? "dark" : "light" });
  const graces = await newPage(context);
  await graces.goto(`${origin}/#invitation=${token}`);
  await graces.getByLabel("E-mail address").fill(email);
  await graces.getByLabel("Password").fill("another good one");
  await graces.getByRole("button", { name: "Register and join" }).click();
  await graces.getByRole("link", { name: "Extensions" }).click();
  await graces.getByRole("link", { name: "Gitea", exact: true }).click();
  await graces.getByText("Your role lets you look").waitFor();
  await look(graces, "extension-viewer");
  const offered = async (name) =>
    (await graces.getByRole("button", { name }).count()) + (await graces.getByRole("link", { name }).count());
  expect((await offered("Install")) + (await offered("Fork")) === 0, "a viewer is offered to run");
  await graces.goto(`${origin}/extensions/my-extension/text`);
  await graces.getByText("your role only lets you look").waitFor();
  expect((await offered("Save")) === 0, "a viewer is offered to save");
  await graces.goto(`${origin}/extensions/executions`);
  await graces.getByRole("link", { name: "Rollback" }).click();
  await graces.getByText("Your role may not read values").waitFor();
  await look(graces, "execution-viewer");
  await context.close();
}

async function readInGerman({ page, origin, api, look }) {
  await api(page, "PATCH", "/user/settings/language", { language: "de" });
  await page.goto(`${origin}/extensions/gitea/run`);
  await page.getByRole("heading", { name: "Was sie täte" }).waitFor();
  await look(page, "extension-run-german");
  await api(page, "PATCH", "/user/settings/language", { language: "en" });
}
