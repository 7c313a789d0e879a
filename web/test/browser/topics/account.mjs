// The own account: an API key that works until it is revoked, a second factor and its recovery codes, the look.
import assert from "node:assert/strict";
import { look } from "../look.mjs";
import { newContext, newPage } from "../pages.mjs";
import { PASSWORD } from "../platform.mjs";
import { totp } from "../totp.mjs";

export default async function account(platform) {
  const page = await platform.page("account-holder");
  await makeAndRevokeAKey(platform, page);
  const codes = await setUpASecondFactor(platform, page);
  await logInWithACode(platform, codes[0]);
  await changeTheLook(platform, page);
}

async function makeAndRevokeAKey(platform, page) {
  await page.goto(`${platform.origin}/account/keys`);
  await page.getByRole("button", { name: "New API key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("ci");
  await look(page, "key-create");
  await dialog.getByRole("button", { name: "New API key" }).click();
  await page.getByRole("heading", { name: "Your new key" }).waitFor();
  await look(page, "key-made");
  const key = await dialog.locator("code").textContent();
  const ask = () =>
    fetch(`${platform.server.origin}/api/v1/deploy/applications`, { headers: { Authorization: `Bearer ${key}` } });
  assert.equal((await ask()).status, 200, "the key that is shown does not work");
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await page.getByRole("button", { name: "Revoke" }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await page.getByText("No API keys").waitFor();
  assert.equal((await ask()).status, 401, "a revoked key works");
}

async function setUpASecondFactor(platform, page) {
  await page.goto(`${platform.origin}/account/security`);
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByRole("dialog").getByLabel("Your password").fill(PASSWORD);
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByAltText("QR code with the secret for your authenticator").waitFor();
  await look(page, "second-factor");
  const dialog = page.getByRole("dialog");
  await page.getByLabel("The code that it shows").fill(totp(await dialog.locator("code").textContent()));
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.getByRole("heading", { name: "Recovery codes" }).waitFor();
  await look(page, "recovery-codes");
  const codes = await dialog.getByRole("listitem").allTextContents();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await page.getByText("On: a login needs a code as well.").waitFor();
  return codes;
}

async function logInWithACode(platform, code) {
  const { email } = await platform.person("account-holder");
  const page = await newPage(await newContext(platform.browser));
  await page.goto(platform.origin);
  await look(page, "login");
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByLabel("Code", { exact: true }).fill(code);
  await look(page, "login-code");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "Applications", level: 1 }).waitFor();
}

async function changeTheLook(platform, page) {
  await page.goto(`${platform.origin}/account/appearance`);
  await page.getByLabel("Language").selectOption("de");
  await page.getByRole("heading", { name: "Konto", level: 1 }).waitFor();
  for (const theme of ["Hoher Kontrast", "Wie das System"]) {
    await page.getByLabel(theme).check();
    await look(page, `theme-${theme.toLowerCase().replaceAll(" ", "-")}`);
  }
  await page.getByRole("button", { name: /^Konto von/ }).click();
  await page.getByRole("button", { name: "Abmelden" }).click();
  await page.getByLabel("E-mail address").waitFor();
}
