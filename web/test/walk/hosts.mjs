// Code hosts, pushes, previews and volumes: with a stand-in for the code host, and the real server for everything else.
import { newPage } from "../browser/pages.mjs";
import { startCodeHost, TOKEN } from "./codeHost.mjs";
import { previews } from "./previews.mjs";
import { pushes } from "./pushes.mjs";
import { volumes } from "./volumes.mjs";

export default async function walk(tools) {
  const host = await startCodeHost();
  try {
    const given = { ...tools, host };
    const connection = await connect(given);
    await connectAnApp(given);
    const application = await deployFromAConnection(given, connection);
    await pushes({ ...given, application, connection });
    await previews({ ...given, application });
    await volumes({ ...given, application });
    await changeTheConnection({ ...given, application });
    await lookAsAViewer({ ...given, application, connection });
    await removeConnections(given, connection);
  } finally {
    host.stop();
  }
}

async function connect({ page, origin, look, expect, host }) {
  await page.goto(`${origin}/connections`);
  await page.getByText("No code host is connected").waitFor();
  await look(page, "connections-empty");
  await page.getByRole("link", { name: "Connect", exact: true }).click();
  await page.getByRole("heading", { name: "Where are the repositories?" }).waitFor();
  await look(page, "connection-new-github-app");
  await page.getByLabel("With a token").check();
  await look(page, "connection-new-github");
  await page.getByLabel("Bitbucket Cloud").check();
  await look(page, "connection-new-bitbucket");
  await page.getByLabel("GitLab").check();
  await page.getByLabel("Address").fill(host.origin);
  await page.getByLabel("Token", { exact: true }).fill("wrong");
  await page.getByRole("button", { name: "Connect" }).click();
  await page.locator("[aria-invalid=true]").waitFor();
  await look(page, "connection-wrong-token");
  await page.getByLabel("Token", { exact: true }).fill(TOKEN);
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("heading", { name: "GitLab", level: 1 }).waitFor();
  await page.getByText("team/shop").waitFor();
  await look(page, "connection");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByText("team/service-60").waitFor();
  await page.getByLabel("Find a repository").fill("service-42");
  await page.getByText("team/shop").waitFor({ state: "detached" });
  expect((await page.getByText("team/service-42").count()) === 1, "a repository is not found by its name");
  await page.getByLabel("Find a repository").fill("nothing-of-it");
  await page.getByText("reaches no such repository").waitFor();
  return page.url().split("/").at(-1);
}

/** The app is made in another tab, from the server's own page; the tab that asked notices it. */
async function connectAnApp({ page, context, origin, look, expect, host }) {
  await page.goto(`${origin}/connections/new`);
  await page.getByLabel("Name", { exact: true }).fill("GitLab");
  await page.getByRole("button", { name: "Go on" }).click();
  await page.locator("[aria-invalid=true]").waitFor();
  expect((await page.getByText("already").count()) === 1, "a name that is taken is not told at its field");
  await page.getByLabel("Name", { exact: true }).fill("Our app");
  await page.getByLabel("Address").fill(host.origin);
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByText("Waiting for GitHub.").waitFor();
  await look(page, "connection-app-waiting");
  const [other] = await Promise.all([
    context.waitForEvent("page"),
    page.getByRole("link", { name: "Open the page" }).click(),
  ]);
  await other.getByRole("heading", { name: "Make a GitHub App" }).waitFor();
  await other.getByRole("button").click();
  await other.getByRole("link", { name: "Create" }).click();
  await other.waitForURL("**/apps/windlass-walk/**");
  await other.close();
  await page.getByText("Our app is connected.").waitFor({ timeout: 10_000 });
  await look(page, "connection-app-made");
  await page.getByRole("link", { name: "To the connection" }).click();
  await page.getByText("reaches no repository yet").waitFor();
  await look(page, "connection-app");
  await page.getByRole("button", { name: "Change" }).click();
  await page.getByText("only the name can change").waitFor();
  await page.keyboard.press("Escape");
  await page.goto(`${origin}/connections`);
  await page.getByRole("link", { name: "Our app" }).waitFor();
  await look(page, "connections");
}

async function deployFromAConnection({ page, origin, look, expect }, connection) {
  await page.goto(`${origin}/connections/${connection}`);
  await page.getByRole("row", { name: "team/shop" }).getByRole("link", { name: "Deploy" }).click();
  await page.getByRole("heading", { name: "New application", level: 1 }).waitFor();
  await page.getByLabel("team/shop").and(page.locator(":checked")).waitFor();
  const branch = page.getByLabel("Branch, tag or commit");
  await branch.and(page.locator("select")).waitFor();
  expect((await page.getByLabel("Name").inputValue()) === "shop", "the name is not proposed");
  expect((await branch.inputValue()) === "main", "the default branch is not chosen");
  await branch.selectOption("fix/cart");
  await look(page, "new-from-connection");
  await page.getByRole("button", { name: "Type a tag" }).click();
  expect((await branch.inputValue()) === "fix/cart", "typing a branch forgets the chosen one");
  await branch.fill("main");
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.waitForURL("**/deployments/*");
  return page.url().split("/")[4];
}

async function changeTheConnection({ page, origin, look, expect, api, application }) {
  await page.goto(`${origin}/applications/${application}/settings`);
  const field = page.getByLabel("Connection");
  await field.locator("option", { hasText: "Our app" }).waitFor({ state: "attached" });
  expect((await field.locator("option:checked").textContent()) === "GitLab (GitLab)", "the connection is not shown");
  await field.selectOption({ label: "Our app (GitHub)" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Nothing changed").waitFor();
  await look(page, "settings-connection");
  await field.selectOption({ label: "none" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Nothing changed").waitFor();
  const stored = await api(page, "GET", `/deploy/application?id=${application}`);
  expect(stored.connection_id === null, "the connection is not taken away");
  await field.selectOption({ label: "GitLab (GitLab)" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Nothing changed").waitFor();
}

async function removeConnections({ page, origin, look, expect }, connection) {
  await page.goto(`${origin}/connections/${connection}`);
  await page.getByRole("button", { name: "Change" }).click();
  await page.getByLabel("Name").fill("Our GitLab");
  await page.getByLabel("Another token").fill("wrong");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("[aria-invalid=true]").waitFor();
  await look(page, "connection-change");
  await page.getByLabel("Another token").fill(TOKEN);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Our GitLab", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await dialog.getByText(/use this connection: .*shop/).waitFor();
  await look(page, "connection-delete-refused");
  await page.keyboard.press("Escape");
  await page.goto(`${origin}/connections`);
  await page.getByRole("link", { name: "Our app" }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("Our app is deleted.").waitFor();
  expect((await page.getByRole("link", { name: "Our app" }).count()) === 0, "a deleted connection is listed");
}

/** A viewer is told what there is, and is offered nothing that only members may do. */
async function lookAsAViewer({ page, browser, origin, look, expect, api, application, connection }) {
  const email = "grace-of-hosts@example.org";
  await page.goto(`${origin}/connections`);
  const { token } = await api(page, "POST", "/organizations/invite/send", { email, role: "viewer" });
  const graces = await newPage(await browser.newContext({ colorScheme: process.env.DARK ? "dark" : "light" }));
  await graces.goto(`${origin}/#invitation=${token}`);
  await graces.getByLabel("E-mail address").fill(email);
  await graces.getByLabel("Password").fill("another good one");
  await graces.getByRole("button", { name: "Register and join" }).click();
  await graces.getByRole("link", { name: "shop", exact: true }).waitFor();
  const offered = async (...names) => {
    for (const name of names) {
      const count = await graces.getByRole("button", { name, exact: true }).count();
      const links = await graces.getByRole("link", { name, exact: true }).count();
      expect(count + links === 0, `a viewer is offered: ${name} at ${graces.url()}`);
    }
  };
  for (const [name, address, text, ...actions] of [
    ["connections-viewer", "/connections", "GitLab", "Connect"],
    ["connection-viewer", `/connections/${connection}`, "your role only lets you see", "Change", "Delete"],
    ["connection-new-viewer", "/connections/new", "your role only lets you look", "Connect", "Go on"],
    ["pushes-viewer", `/applications/${application}/pushes`, "Members who may change", "New secret", "Set it up there"],
    ["previews-viewer", `/applications/${application}/previews`, "What previews get", "New preview", "Change"],
    ["volumes-viewer", `/applications/${application}/volumes`, "uploads", "Add a volume", "Attach"],
    ["volume-viewer", `/applications/${application}/volumes/uploads`, "Folder in the container", "Change", "Delete"],
  ]) {
    await graces.goto(origin + address);
    await graces.getByText(text).first().waitFor();
    await offered(...actions);
    await look(graces, name);
  }
  await graces.context().close();
}
