// Credentials for registries of images, and the form of an application that is made from one.

/** Nothing is asked of a registry before a deploy. */
export async function registries({ page, origin, look, expect }) {
  await page.goto(`${origin}/registries`);
  await page.getByText("There are no credentials for registries").waitFor();
  await page.getByRole("button", { name: "Add credentials" }).click();
  await page.getByLabel("Registry").fill("no host");
  await page.getByLabel("User", { exact: true }).fill("ada");
  await page.getByLabel("Password or token").fill("a-token");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("[aria-invalid=true]").waitFor();
  await look(page, "registry-wrong-host");
  await page.getByLabel("Registry").fill("registry.example.org:5000");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Change: registry.example.org:5000" }).click();
  await page.getByLabel("User", { exact: true }).fill("grace");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("cell", { name: "grace" }).waitFor();
  await look(page, "registries");
  await page.goto(`${origin}/applications/new`);
  await page.getByLabel("An image").check();
  await page.getByLabel("Image", { exact: true }).fill("registry.example.org:5000/team/shop:1.4");
  expect((await page.getByLabel("Name", { exact: true }).inputValue()) === "shop", "no name is proposed for an image");
  expect((await page.getByLabel("Branch").count()) === 0, "an image has no branch");
  await look(page, "new-application-image");
  await page.getByLabel("At an address").check();
  await page.goto(`${origin}/registries`);
  await page.getByRole("button", { name: "Delete: registry.example.org:5000" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("There are no credentials for registries").waitFor();
}
