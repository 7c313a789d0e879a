// Extensions: the catalog, what one would do, what was run, what is installed, and the text of an own one. The server of the walk has no
// container engine. Steps that are commands need none: what is run and installed here is real, on the machine of the walk, inside a
// folder of its own.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newPage } from "../browser/pages.mjs";
import { browseTheCatalog, lookAtWhatIsEmpty, planARun } from "./extensions/catalog.mjs";
import { installUpdateGoBack, showWhatAnEngineWouldRun } from "./extensions/installations.mjs";
import { cancelARun, runAndFail, runToTheEnd } from "./extensions/runs.mjs";
import { forkAndEdit, writeOne } from "./extensions/texts.mjs";

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
