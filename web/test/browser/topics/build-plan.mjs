// Before the first deployment: what would be built of a repository, and a choice where several could be meant.
import assert from "node:assert/strict";
import { look } from "../look.mjs";

export default async function buildPlan(platform) {
  const program = "package main\n\nfunc main() {}\n";
  const files = { "go.mod": "module tools\n\ngo 1.24\n", "cmd/api/main.go": program, "cmd/job/main.go": program };
  const address = platform.repository("tools", files).path;
  const page = await platform.page("member");
  await page.goto(`${platform.origin}/applications/new`);
  await page.getByLabel("Repository", { exact: true }).fill(address);
  const ask = page.getByRole("button", { name: "Look at the repository" });
  await ask.click();
  await page.getByText("Several could be meant.").waitFor();
  await toTheEnd(page);
  await look(page, "build-plan-choice");
  await page.getByRole("button", { name: "Take Go: cmd/job" }).click();
  // The answer was about another form.
  await page.getByText("Several could be meant.").waitFor({ state: "detached" });
  assert.equal(await page.getByLabel("Program").inputValue(), "cmd/job");
  await ask.click();
  await page.getByText("It is built into an image").waitFor();
  await page.getByText("The Dockerfile that is made").click();
  await page.getByText("FROM golang:1.24").first().waitFor();
  await toTheEnd(page);
  await look(page, "build-plan");
  await page.getByLabel("Repository", { exact: true }).fill(`${address}-none`);
  await ask.click();
  await page.getByText("The repository cannot be reached.").waitFor();
  const all = await platform.api("GET", "/deploy/applications?search=tools");
  assert.deepEqual(all.applications, [], "looking at a repository made an application");
}

/** Where the answer is. */
const toTheEnd = (page) => page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
