// What there is before anything is run: the catalog, and what one extension would do.

export async function lookAtWhatIsEmpty({ page, origin, look }) {
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

export async function browseTheCatalog({ page, origin, look, expect }) {
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

export async function planARun({ page, origin, look, expect }) {
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
