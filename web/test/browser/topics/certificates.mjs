// A certificate is uploaded, refused where it must be, shown with what it serves, and deleted.
import assert from "node:assert/strict";
import { certificateFor } from "../certificate.mjs";
import { look } from "../look.mjs";

const HOST = "encrypted.example.org";

export default async function certificates(platform) {
  const application = await platform.deploy("encrypted", { domain: HOST });
  const { certificate_chain, private_key } = certificateFor(HOST);
  const page = await platform.page("member");
  await page.goto(`${platform.origin}/organization/certificates`);
  await page.getByRole("button", { name: "Upload a certificate" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Certificate chain").fill(certificate_chain);
  await dialog.getByLabel("Private key").fill(certificateFor(HOST).private_key);
  await dialog.getByRole("button", { name: "Upload" }).click();
  await dialog.getByText("is not the key of the first certificate").waitFor();
  assert.equal(await dialog.getByLabel("Private key").getAttribute("aria-invalid"), "true", "the problem is elsewhere");
  await look(page, "certificate-problem");
  await dialog.getByLabel("Private key").fill(private_key);
  await dialog.getByRole("button", { name: "Upload" }).click();
  await page.getByText(`The certificate for ${HOST} is there.`).waitFor();

  const domain = page.getByRole("table", { name: "Domains" }).getByRole("row").filter({ hasText: HOST });
  await domain.getByText("served").waitFor();
  const row = page.getByRole("table", { name: "Certificates" }).getByRole("row").filter({ hasText: HOST });
  await row.getByText("valid").waitFor();
  assert.equal(await row.getByText(HOST).count(), 2, "it is not shown for what it is served");
  await row.getByRole("button", { name: `Delete: ${HOST}` }).click();
  await dialog.getByText(`Served with it: ${HOST}`).waitFor();
  await look(page, "certificate-delete");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await row.waitFor({ state: "detached" });
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: "encrypted" });
}
