// A user who has forgotten the password gets a link by mail, chooses a new one, and then changes the e-mail address.
import { look } from "../look.mjs";
import { newContext, newPage } from "../pages.mjs";

const NEW_PASSWORD = "quite another password";
const NEW_EMAIL = "remembering@example.org";

export default async function password(platform) {
  const { email } = await platform.person("forgetful");
  const page = await newPage(await newContext(platform.browser));
  await forget(platform, page, email);
  await logIn(page, email);
  await changeTheAddress(platform, page, email);
  await page.context().clearCookies();
  await page.goto(platform.origin);
  await logIn(page, NEW_EMAIL);
}

async function forget(platform, page, email) {
  await page.goto(platform.origin);
  await page.getByRole("button", { name: "Forgot your password?" }).click();
  await page.getByLabel("E-mail address").fill(email);
  await look(page, "forgot-password");
  await page.getByRole("button", { name: "Send the link" }).click();
  await page.getByRole("heading", { name: "Look into your mailbox" }).waitFor();
  await look(page, "forgot-password-done");
  const link = await platform.mailbox.linkTo(email, "reset");
  await page.goto(`${platform.origin}/${link}`);
  await page.getByLabel("New password").fill(NEW_PASSWORD);
  await page.getByRole("button", { name: "Change the password" }).click();
  await page.getByText("Your password is changed").waitFor();
  await page.getByRole("button", { name: "Log in" }).click();
}

async function logIn(page, email) {
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(NEW_PASSWORD);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "Applications", level: 1 }).waitFor();
}

async function changeTheAddress(platform, page, email) {
  await page.goto(`${platform.origin}/account/security`);
  // The account's menu has it too.
  await page.locator("main").getByText(email, { exact: true }).waitFor();
  await page.getByLabel("New e-mail address").fill(NEW_EMAIL);
  await page.getByLabel("Your password").fill(NEW_PASSWORD);
  await look(page, "change-email");
  await page.getByRole("button", { name: "Send a link" }).click();
  const link = await platform.mailbox.linkTo(NEW_EMAIL, "verify-email");
  await page.goto("about:blank");
  await page.goto(`${platform.origin}/${link}`);
  await page.getByRole("heading", { name: "Is this your e-mail address?" }).waitFor();
  await look(page, "verify-email");
  await page.getByRole("button", { name: "Yes, it is mine" }).click();
  await page.getByText("Your e-mail address is proven").waitFor();
}
