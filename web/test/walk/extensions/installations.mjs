// What is installed: its update, its rollback, its services and its removal.
import { agree, commandsText, HOSTILE, stateBecomes } from "./commands.mjs";

export async function installUpdateGoBack(given) {
  const made = await install(given);
  await update(given, made);
  await rollBack(given);
}

async function install({ page, origin, folder, api, look, expect }) {
  const made = await api(page, "POST", "/extensions", { yaml_content: commandsText("board", "install", folder) });
  await page.goto(`${origin}/extensions/board/run`);
  await agree(page);
  await page.getByRole("button", { name: "Install", exact: true }).click();
  await stateBecomes(page, "completed");
  await page.goto(`${origin}/extensions/board/run`);
  await page.getByLabel("Name of the installation").waitFor();
  expect((await page.getByLabel("Name of the installation").inputValue()) === "board-2", "a taken name is proposed");
  await page.goto(`${origin}/extensions?search=board`);
  await page.getByText("installed", { exact: true }).waitFor();
  await look(page, "extensions-installed");
  return made;
}

async function update({ page, origin, folder, api, look }, made) {
  const changed = commandsText("board", "install", folder, "  colour: { type: string, default: green }\n");
  await api(page, "PUT", `/extensions/${made.id}`, { yaml_content: changed.replace("1.0.0", "1.1.0") });
  await page.goto(`${origin}/extensions/installations`);
  await page.getByText("update available").waitFor();
  await look(page, "installations");
  await page.getByRole("link", { name: "board", exact: true }).click();
  await page.getByText("the extension has changed since").waitFor();
  await look(page, "installation-commands");
  await page.getByRole("link", { name: "Update…" }).click();
  await page.getByText("Version 1.0.0 becomes 1.1.0").waitFor();
  await page.getByLabel("Note").fill("good night");
  await page.locator("ins").getByText("good night").waitFor();
  await agree(page);
  await look(page, "installation-update");
  await page.getByRole("button", { name: "Update", exact: true }).click();
  await stateBecomes(page, "completed");
}

async function rollBack({ page, look }) {
  await page.getByRole("link", { name: "To the installation" }).click();
  await page.getByRole("button", { name: "Roll back…" }).click();
  await page.locator("del").getByText("good night").waitFor();
  await look(page, "installation-roll-back");
  await page.getByRole("button", { name: "Roll back", exact: true }).click();
  await page.getByRole("heading", { name: /^Rollback/ }).waitFor();
  await stateBecomes(page, "completed");
  await page.getByRole("link", { name: "To the installation" }).click();
  await page.getByRole("link", { name: "Executions" }).last().click();
  await page.getByRole("link", { name: "Rollback" }).waitFor();
  await look(page, "installation-executions");
}

const envelope = (data) => ({ json: { status: "success", message: "", data } });

/** Services, addresses and volumes are the container engine's: the answers of the server are changed on their way. */
export async function showWhatAnEngineWouldRun(given) {
  const { page, api } = given;
  const { installations, pagination } = await api(page, "GET", "/extensions/installations");
  const [real] = installations;
  await pretendServices(page, real, pagination);
  await openWithServices(given, real.id);
  await followTheLog(given, await pretendLines(page, real.id));
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await uninstallForReal({ ...given, id: real.id });
}

async function pretendServices(page, real, pagination) {
  const service = (name, status) => ({
    ...{ name, status, image: `example/${name}:3.2`, image_id: "sha256:0", container_name: `board-${name}` },
    ...{ address: "10.9.0.4", host: `${name}.board` },
  });
  const changed = {
    ...real,
    services: [service("web", "running"), service("database", "unhealthy")],
    domains: [{ domain: "board.localhost", service: "web", port: 80 }],
    volumes: [
      { id: "1", name: "data", size_bytes: 734_003_200 },
      { id: "2", name: "uploads", size_bytes: null },
    ],
  };
  await page.route("**/api/v1/extensions/installations?*", (route) =>
    route.fulfill(envelope({ installations: [changed], pagination })),
  );
  await page.route(`**/api/v1/extensions/installations/${real.id}`, (route) =>
    route.request().method() === "GET" ? route.fulfill(envelope(changed)) : route.fallback(),
  );
}

/** Answers with lines up to a newest one, and returns a function that lets newer ones come. */
async function pretendLines(page, id) {
  const line = (n) => ({
    ...{ id: `${n}`, installation_id: id, service: n % 3 ? "web" : "database", sequence: n },
    ...{ message: `line ${n} ${HOSTILE}`, stream: n % 7 ? "stdout" : "stderr", created_at: new Date().toISOString() },
  });
  let newest = 5_003;
  await page.route(`**/api/v1/extensions/installations/${id}/logs?*`, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const after = Number(query.get("after"));
    const count = Math.max(0, Math.min(newest - after, Number(query.get("limit"))));
    const logs = Array.from({ length: count }, (_, at) => line(after + 1 + at));
    return route.fulfill(envelope({ logs, next_after: after + count }));
  });
  return (number) => {
    newest = number;
  };
}

async function openWithServices({ page, origin, look, expect }, id) {
  await page.goto(`${origin}/extensions/installations`);
  await page.getByText("1 of 2 running").waitFor();
  await look(page, "installations-running");
  await page.goto(`${origin}/extensions/installations/${id}`);
  await page.getByText("web.board").waitFor();
  await look(page, "installation");
  await page.getByRole("button", { name: "Uninstall…" }).click();
  await page.getByLabel("data, 700 MiB").check();
  const uninstall = page.getByRole("dialog").getByRole("button", { name: "Uninstall" });
  expect(await uninstall.isDisabled(), "it can be uninstalled without its name");
  await look(page, "installation-uninstall");
  await page.keyboard.press("Escape");
}

async function followTheLog({ page, look, expect }, printUpTo) {
  await page.getByRole("link", { name: "Logs" }).click();
  await page.getByText("line 5003 ").waitFor();
  printUpTo(5_010);
  await page.getByText("line 5010 ").waitFor();
  const log = page.getByRole("log");
  const distance = () => log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
  expect((await distance()) < 10, "the end of the log is not followed");
  await look(page, "installation-logs");
  await log.evaluate((box) => box.scrollTo(0, 300));
  await page.getByText("Paused while you read").waitFor();
  const top = () => log.evaluate((box) => [...box.children].find((row) => row.offsetTop >= box.scrollTop).textContent);
  const before = await top();
  await page.getByRole("button", { name: "Earlier lines" }).click();
  await page.waitForTimeout(500);
  expect((await top()) === before, "earlier lines move what is read");
  await page.getByRole("button", { name: "To the newest line" }).click();
  await page.getByLabel("Service").selectOption("database");
  expect((await log.getByText(/^web$/).count()) === 0, "other services are still shown");
}

async function uninstallForReal({ page, origin, id, expect }) {
  await page.goto(`${origin}/extensions/installations/${id}`);
  await page.getByRole("button", { name: "Uninstall…" }).click();
  await page.getByLabel("Type the name to confirm").fill("board");
  await page.getByRole("dialog").getByRole("button", { name: "Uninstall" }).click();
  await page.getByRole("heading", { name: /^Removal/ }).waitFor();
  await stateBecomes(page, "completed");
  await page.goto(`${origin}/extensions/installations`);
  await page.getByText("Nothing is installed yet").waitFor();
  expect((await page.title()) !== "1", "a hostile text has run");
}
