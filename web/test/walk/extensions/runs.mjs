// Runs that succeed, fail and are stopped.
import { agree, commandsText, stateBecomes } from "./commands.mjs";

export async function runToTheEnd({ page, origin, folder, api, look, expect }) {
  await api(page, "POST", "/extensions", { yaml_content: commandsText("note", "run", folder) });
  await page.goto(`${origin}/extensions/note/run`);
  await page.getByText("runs a command on the host").first().waitFor();
  const run = page.getByRole("button", { name: "Run", exact: true });
  expect(await run.isDisabled(), "what changes the machine can be run unread");
  await page.getByLabel("Note").fill("UPPER");
  await page.getByText("Pattern: [a-z ]+").waitFor();
  await look(page, "extension-run-problem");
  await page.getByLabel("Note").fill("good evening");
  await page.getByLabel("Words").fill("one\ntwo");
  await page.getByRole("textbox", { name: "Token" }).fill("not for any eyes");
  await page.getByText("runs a command on the host").first().waitFor();
  await agree(page);
  await look(page, "extension-run-host");
  await run.click();
  await stateBecomes(page, "completed");
  await page.getByText("one,two ********").waitFor();
  await look(page, "execution-completed");
  expect((await page.getByText("not for any eyes").count()) === 0, "a secret is shown");
}

export async function runAndFail({ page, origin, look, expect }) {
  await page.goto(`${origin}/extensions/note/run`);
  await page.getByLabel("Fails").check();
  await agree(page);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("heading", { name: "It failed at the step “Fail”" }).waitFor();
  await page.getByText("undone", { exact: false }).first().waitFor();
  await look(page, "execution-failed");
  await page.getByRole("link", { name: "Try again…" }).click();
  await page.getByRole("heading", { name: "What it would do" }).waitFor();
  await page.goto(`${origin}/extensions/executions`);
  await page.getByRole("link", { name: "Run", exact: true }).first().waitFor();
  await look(page, "executions");
  await page.getByLabel("State").selectOption("failed");
  await page.getByText("completed").last().waitFor({ state: "hidden" });
  expect((await page.getByRole("row").count()) === 2, "the filter leaves others in");
  await page.goto(`${origin}/extensions/note/executions`);
  await page.getByRole("link", { name: "Run", exact: true }).first().waitFor();
  await look(page, "extension-executions");
}

export async function cancelARun({ page, origin, look }) {
  await page.goto(`${origin}/extensions/note/run`);
  await page.getByLabel("Seconds").fill("120");
  await agree(page);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await stateBecomes(page, "running");
  await page.getByText("hello").first().waitFor();
  await look(page, "execution-running");
  await page.getByRole("button", { name: "Stop…" }).click();
  await look(page, "execution-cancel");
  await page.getByRole("button", { name: "Stop and undo" }).click();
  await stateBecomes(page, "cancelled");
  await look(page, "execution-cancelled");
}
