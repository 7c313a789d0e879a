// Previews of pull requests.

export async function previews({ page, origin, look, expect, api, application }) {
  await page.goto(`${origin}/applications/${application}/previews`);
  await page.getByText("Pull requests get no previews.").waitFor();
  await look(page, "previews-off");
  await page.getByRole("button", { name: "Switch on" }).click();
  await page.getByText("Each pull request to").waitFor();
  await page.getByRole("button", { name: "New preview" }).click();
  await page.getByLabel("Pull request").fill("17");
  await page.getByLabel("Branch").fill("fix/cart");
  await page.getByLabel("Title").fill("Keep what is in the cart");
  await look(page, "preview-new");
  await page.getByRole("button", { name: "Deploy", exact: true }).last().click();
  await page.getByRole("link", { name: "#17 Keep what is in the cart" }).waitFor();
  await changeVariables({ page, look, expect, api, application });
  await look(page, "previews");
  await page.getByRole("link", { name: "#17" }).click();
  await page.getByText("This is a preview.").waitFor();
  await look(page, "preview-overview");
  expect((await page.getByRole("link", { name: "Pushes" }).count()) === 0, "a preview has a tab for pushes");
  await page.getByRole("link", { name: "To the application" }).click();
  await page.getByRole("row", { name: "#17" }).getByRole("button", { name: "Actions" }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await look(page, "preview-delete");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("The preview of #17 is being deleted.").waitFor();
}

async function changeVariables({ page, look, expect, api, application }) {
  const variables = { API_TOKEN: "of production", GREETING: "hello" };
  const body = { id: application, environment_variables: variables, secret_names: ["API_TOKEN"] };
  await api(page, "PUT", "/deploy/application", body);
  await page.reload();
  await page.getByRole("button", { name: "Change" }).click();
  await page.getByRole("textbox", { name: "Variables" }).fill("GREETING=preview\nbroken");
  await page.getByText("is not NAME=value").waitFor();
  await page.getByRole("textbox", { name: "Variables" }).fill("GREETING=preview");
  await page.getByLabel("API_TOKEN").check();
  await look(page, "preview-variables");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const stored = await api(page, "GET", `/deploy/application?id=${application}`);
  expect(stored.preview_secret_names.join() === "API_TOKEN", "the secret is not given to previews");
  expect(stored.preview_variables.includes("preview"), "the variable of previews is not stored");
}
