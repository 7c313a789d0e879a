// From an empty installation to a served application, by what a person does in the browser.
import assert from "node:assert/strict";
import { look } from "../look.mjs";
import { newContext, newPage } from "../pages.mjs";
import { PASSWORD } from "../platform.mjs";
import { says } from "../repository.mjs";

export default async function firstStart(platform) {
  const context = await newContext(platform.browser);
  const page = await newPage(context);
  await registerTheAdmin(page, platform.origin);
  await page.getByText("No application yet").waitFor();
  await look(page, "applications-empty");

  const repository = platform.repository("hello", says("Hello from the first version"));
  await page.getByRole("link", { name: "New application" }).click();
  await page.getByLabel("Repository", { exact: true }).fill(repository.path);
  await page.getByLabel("Variables").fill("GREETING=hello");
  await look(page, "new-application");
  await watchStates(page);
  await page.getByRole("button", { name: "Deploy" }).click();
  await page.getByRole("heading", { name: "Log", level: 2 }).waitFor();
  await page.locator("[role=status] .state", { hasText: "deployed" }).waitFor({ timeout: 60_000 });

  const states = await page.evaluate(() => globalThis.statesSeen);
  assert.ok(
    states.some((state) => ["fetching", "building", "starting"].includes(state)),
    `no way was seen: ${states}`,
  );
  assert.equal(states.at(-1), "deployed");
  await page.getByRole("listitem").filter({ hasText: "Build" }).waitFor();
  await page.locator(".log-line", { hasText: "COPY www /www" }).first().waitFor();
  await look(page, "deployment");

  const [visit] = await Promise.all([
    context.waitForEvent("page"),
    page.getByRole("link", { name: "hello.localhost" }).click(),
  ]);
  await visit.getByText("Hello from the first version").waitFor();
  assert.deepEqual(await platform.visit("hello.localhost"), { status: 200, text: "Hello from the first version" });

  // The edge has counted the visits; the server asks it every ten seconds, and the page asks the server.
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByText(/^[1-9]\d* requests?, 0 errors/).waitFor({ timeout: 60_000 });
}

async function registerTheAdmin(page, origin) {
  await page.goto(origin);
  await page.getByLabel("E-mail address").waitFor();
  await look(page, "register");
  await page.getByLabel("E-mail address").fill("ada@example.org");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByLabel("Your name").fill("Ada");
  await page.getByRole("button", { name: "Register" }).click();
  await page.getByRole("heading", { name: "Applications", level: 1 }).waitFor();
}

/** Notes each state that the page shows, in a variable that a reload would lose. */
async function watchStates(page) {
  await page.evaluate(() => {
    globalThis.statesSeen = [];
    const note = () => {
      const state = document.querySelector("main [role=status] .state")?.textContent?.trim();
      if (state && globalThis.statesSeen.at(-1) !== state) globalThis.statesSeen.push(state);
    };
    new MutationObserver(note).observe(document, { subtree: true, childList: true, characterData: true });
  });
}
