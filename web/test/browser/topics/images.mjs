// An application that is made from an image of a registry: its form, and that it is asked for nothing that only a repository has.
import assert from "node:assert/strict";
import { look } from "../look.mjs";

/** Nothing listens there: its deployment fails, and what is shown of it is that of an image all the same. */
const IMAGE = "127.0.0.1:1/team/pulled:1.4";

export default async function images(platform) {
  const page = await platform.page("member");
  await page.goto(`${platform.origin}/applications/new`);
  await page.getByLabel("An image").check();
  await page.getByLabel("Image", { exact: true }).fill(IMAGE);
  await page.getByLabel("Deploy by itself when the tag").check();
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.waitForURL("**/deployments/*");
  const [, id, deployment] = /applications\/([^/]+)\/deployments\/([^/]+)/.exec(page.url());
  const { status } = await platform.ended(deployment);
  assert.equal(status.status, "failed");
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await page.locator("main dd").getByText(IMAGE).waitFor();
  await look(page, "overview-image");
  assert.equal(await page.getByRole("link", { name: "Previews", exact: true }).count(), 0, "an image has previews");
  await page.getByRole("link", { name: "Settings", exact: true }).click();
  await changeTheTag(platform, page, id);
  await platform.api("DELETE", "/deploy/application", { id, name: "pulled" });
}

async function changeTheTag(platform, page, id) {
  await page.getByLabel("Image", { exact: true }).fill(IMAGE.replace("1.4", "1.5"));
  await page.getByLabel("Deploy when the tag of the image").uncheck();
  for (const label of ["Branch", "Built by", "Dockerfile"]) {
    assert.equal(await page.getByLabel(label).count(), 0, `an image is asked for ${label}`);
  }
  await look(page, "settings-image");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const { settings, triggers } = await platform.api("GET", `/deploy/application?id=${id}`);
  assert.deepEqual([settings.image, triggers.auto_update], [IMAGE.replace("1.4", "1.5"), false]);
}
