// Walks through the views of nouns, without an engine: `npm run walk`. Each file in test/walk/ exports a function that makes what it needs
// through the real API, opens its views and looks at them. `scripts/browser walk` runs the same.
// WINDLASS names the server's binary; ONLY one file; SHOTS a folder for pictures; CHROMIUM the browser; DARK=1 walks in the dark.
import { existsSync, readdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { look } from "./browser/look.mjs";
import { expect, launch, newContext, newPage, problems } from "./browser/pages.mjs";
import { serve } from "./serve.mjs";

/** By the names of the files in test/walk/: what they export, if it is a walk. */
export async function walks() {
  const files = existsSync("test/walk") ? readdirSync("test/walk").filter((name) => name.endsWith(".mjs")) : [];
  const found = await Promise.all(
    files.map(async (name) => [name.slice(0, -".mjs".length), await import(`./walk/${name}`)]),
  );
  return found.filter(([, { default: walk }]) => walk).map(([name, { default: walk }]) => [name, walk]);
}

/** The same request as the dashboard's own, with the login of the page. */
export const api = (page, verb, path, body) =>
  page.evaluate(
    async ([method, address, sent]) => {
      const headers = { "X-Windlass-Client": "browser" };
      const answer = await fetch(`/api/v1${address}`, { method, headers, body: sent && JSON.stringify(sent) });
      return (await answer.json()).data;
    },
    [verb, path, body],
  );

export async function registerTheAdmin(page, origin) {
  await page.goto(origin);
  await page.getByLabel("E-mail address").fill("ada@example.org");
  await page.getByLabel("Password").fill("correct horse battery");
  await page.getByLabel("Your name").fill("Ada");
  await page.getByRole("button", { name: "Register" }).click();
  await page.getByRole("heading", { name: "Applications", level: 1 }).waitFor();
}

async function walk() {
  const { origin, stop, folder } = await serve();
  const browser = await launch();
  try {
    const context = await newContext(browser, { colorScheme: process.env.DARK ? "dark" : "light" });
    const page = await newPage(context);
    await registerTheAdmin(page, origin);
    for (const [name, walkThrough] of await walks()) {
      const isChosen = !process.env.ONLY || process.env.ONLY === name;
      if (isChosen) await walkThrough({ browser, context, page, origin, folder, api, look, expect });
    }
  } catch (error) {
    problems.push(String(error.stack ?? error));
  } finally {
    await browser.close();
    await stop();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await walk();
  if (problems.length > 0) {
    console.error(problems.join("\n"));
    process.exit(1);
  }
  console.log("every view opens, without errors");
}
