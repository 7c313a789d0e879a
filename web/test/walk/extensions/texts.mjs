// The text of an extension: a fork of one that comes with Windlass, and a new one.

export async function forkAndEdit(given) {
  const { page, look } = given;
  await fork(given);
  const text = page.getByLabel("Text of the extension");
  const original = await text.inputValue();
  await look(page, "text-fork");
  await typeByKeyboard(given, text, original);
  await saveWithProblems(given, text, original);
  await changeAtTheSameTime(given, text, original);
  await remove(given);
}

async function fork({ page, origin, look }) {
  await page.goto(`${origin}/extensions/valkey/text`);
  await page.getByText("comes with Windlass and cannot be changed").waitFor();
  await look(page, "text-verified");
  await page.getByRole("button", { name: "Fork" }).click();
  await page.getByText("The fork is there").waitFor();
  await page.waitForURL("**/extensions/valkey-fork/text");
}

async function typeByKeyboard({ page, expect }, text, original) {
  await text.focus();
  await page.keyboard.press("Tab");
  const isInside = () => text.evaluate((field) => field === document.activeElement);
  expect(!(await isInside()), "Tab is caught before anything is typed");
  await text.click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("Tab");
  expect((await text.inputValue()).startsWith("  metadata"), "Tab does not indent");
  await page.keyboard.press("Shift+Tab");
  expect((await text.inputValue()) === original, "Shift and Tab does not take it back");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  expect(!(await isInside()), "the keyboard is trapped in the text");
}

async function saveWithProblems({ page, look, expect }, text, original) {
  await text.fill(original.replace("  author:", "  autor:").replace("type: wait", "type: wat"));
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("things are wrong").waitFor();
  await look(page, "text-problems");
  await page.getByRole("button", { name: /did you mean wait/ }).click();
  const at = await text.evaluate((field) => field.value.slice(field.selectionStart, field.selectionStart + 3));
  expect(at === "wat", `a problem leads to ${at}`);
  await page.getByRole("button", { name: "Save as a draft" }).click();
  await page.getByText("Saved as a draft").waitFor();
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByText("This is a draft").waitFor();
  await look(page, "extension-draft");
  await page.getByRole("link", { name: "To the text" }).click();
}

/** A draft outlives another tab of the page, and a text that is stored meanwhile. */
async function changeAtTheSameTime({ page, api, look, expect }, text, original) {
  await text.fill(original.replace("version: 1.0.0", "version: 1.0.1"));
  await page.getByRole("link", { name: "Overview" }).click();
  await page.getByText("This is a draft").waitFor();
  await page.getByRole("link", { name: "Text", exact: true }).click();
  expect((await text.inputValue()).includes("1.0.1"), "the draft is lost in another tab");
  await api(page, "PUT", "/extensions/valkey-fork", { yaml_content: original.replace("1.0.0", "2.0.0") });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("The text was changed meanwhile").waitFor();
  await look(page, "text-conflict");
  expect((await text.inputValue()).includes("1.0.1"), "a draft was overwritten");
  await page.getByRole("button", { name: "Keep mine" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved.", { exact: true }).waitFor();
}

async function remove({ page, look }) {
  await page.getByRole("button", { name: "Actions" }).click();
  await page.getByRole("button", { name: "Delete…" }).click();
  await look(page, "extension-delete");
  await page.getByLabel("Type the id to confirm").fill("valkey-fork");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("is deleted").waitFor();
}

export async function writeOne({ page, origin, look, expect }) {
  await page.goto(`${origin}/extensions/new`);
  const text = page.getByLabel("Text of the extension");
  await text.waitFor();
  await look(page, "extension-new");
  const example = await text.inputValue();
  await text.fill(example.replace("id: my-extension", "id: gitea"));
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("gitea is taken").waitFor();
  await look(page, "extension-taken");
  await text.fill(example);
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "My extension", level: 1 }).waitFor();
  expect(page.url().endsWith("/extensions/my-extension"), "the new extension is not shown");
  await look(page, "extension-own");
}
