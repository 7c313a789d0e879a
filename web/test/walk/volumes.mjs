// Volumes and snapshots. Snapshots are written by the container engine, so the answers about them are made here.

export async function volumes(given) {
  const { page, origin, look, application } = given;
  await page.goto(`${origin}/applications/${application}/volumes`);
  await page.getByText("No volume", { exact: true }).waitFor();
  await look(page, "volumes-empty");
  await addAVolume(given);
  await deleteAndAttach(given);
  await showSnapshots(given);
}

async function addAVolume({ page, look, expect, api, application }) {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Add a volume" }).click();
  await page.getByLabel("Name").fill("uploads");
  await page.getByLabel("Folder in the container").fill("uploads");
  await dialog.getByRole("button", { name: "Add a volume" }).click();
  await page.locator("[aria-invalid=true]").waitFor();
  await look(page, "volume-add");
  await page.getByLabel("Folder in the container").fill("/data/uploads");
  await page.getByLabel("Hours between snapshots").fill("24");
  await page.getByText("More", { exact: true }).click();
  await page.getByLabel("Command before a snapshot").fill("sync");
  await look(page, "volume-add-more");
  await dialog.getByRole("button", { name: "Add a volume" }).click();
  await page.getByRole("link", { name: "uploads" }).waitFor();
  await api(page, "POST", `/deploy/application/${application}/volumes`, {
    name: "cache",
    path: "/cache",
    shared: true,
  });
  await page.reload();
  await page.getByRole("link", { name: "cache" }).waitFor();
  expect((await page.getByText("every 24 h, 7 kept").count()) === 1, "the schedule is not shown");
  await page.getByRole("link", { name: "cache" }).click();
  await page.getByRole("button", { name: "Change" }).click();
  await page.getByLabel("Name").fill("cached");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "cached", level: 2 }).waitFor();
  await look(page, "volume-unused");
}

async function deleteAndAttach({ page, look }) {
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Delete" }).click();
  await look(page, "volume-delete");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Can be attached" }).waitFor();
  await look(page, "volumes");
  await page.getByRole("button", { name: "Attach" }).click();
  await page.getByLabel("Folder in the container").fill("/data/uploads");
  await dialog.getByRole("button", { name: "Attach" }).click();
  await page.locator("[aria-invalid=true]").waitFor();
  await look(page, "volume-attach");
  await page.getByLabel("Folder in the container").fill("/cached");
  await dialog.getByRole("button", { name: "Attach" }).click();
  await page.getByRole("heading", { name: "Can be attached" }).waitFor({ state: "detached" });
}

async function showSnapshots({ page, origin, look, expect, api, application }) {
  const envelope = (data) => ({ json: { status: "success", message: "", data } });
  const { volumes: real } = await api(page, "GET", `/deploy/application/${application}/volumes`);
  const now = new Date().toISOString();
  const measured = { size_bytes: 734_003_200, measured_at: now, last_used_at: now };
  const known = real.map((volume) => ({ ...volume, ...measured }));
  const uploads = known.find(({ name }) => name === "uploads");
  const made = (n, more) => ({
    ...{ id: `${n}`.repeat(8) + uploads.id.slice(8), application_id: application, application_name: "shop" },
    ...{ volume_id: uploads.id, volume_name: "uploads", origin: "schedule", deployment_id: null, release_id: null },
    ...{ state: "ready", reason: "", size_bytes: n * 301_000_000, sha256: `${n}f`.repeat(32), completed_at: now },
    created_at: new Date(Date.now() - n * 86_400_000).toISOString(),
    ...more,
  });
  const own = [
    made(1, { state: "pending", origin: "user", size_bytes: 0, sha256: "" }),
    made(2, {}),
    made(3, { origin: "deployment", deployment_id: "d".repeat(8) + uploads.id.slice(8) }),
    made(4, { state: "failed", reason: "The disk has less than a twentieth free.", size_bytes: 0, sha256: "" }),
  ];
  const other = made(5, {
    application_id: null,
    application_name: "old-shop",
    volume_id: "gone",
    volume_name: "files",
  });
  await page.route("**/api/v1/deploy/application/*/volumes", (route) => route.fulfill(envelope({ volumes: known })));
  await page.route("**/volumes/uploads/snapshots", (route) => route.fulfill(envelope({ snapshots: own })));
  await page.route("**/api/v1/deploy/snapshots", (route) => route.fulfill(envelope({ snapshots: [...own, other] })));
  await page.goto(`${origin}/applications/${application}/volumes`);
  await page.getByText("Snapshots of other volumes (1)").click();
  await page.getByText("old-shop / files").waitFor();
  await look(page, "volumes-used");
  await page.getByRole("button", { name: "Restore" }).click();
  await page.getByLabel("Into the volume").waitFor();
  await look(page, "restore-into");
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "uploads" }).click();
  await page.getByText("less than a twentieth").waitFor();
  await look(page, "volume");
  await page.getByRole("button", { name: "Restore" }).first().click();
  await look(page, "restore");
  await page.keyboard.press("Escape");
  await download({ page, expect, snapshot: own[1] });
  await page.getByRole("row", { name: "schedule" }).first().getByRole("button", { name: "Actions" }).click();
  await page.getByRole("button", { name: "Delete" }).last().click();
  await look(page, "snapshot-delete");
  await page.keyboard.press("Escape");
  await page.unrouteAll();
}

/** The browser itself downloads it, and the address says of which organization it is. */
async function download({ page, expect, snapshot }) {
  const asked = [];
  await page.context().route("**/snapshots/*/download*", (route) => {
    asked.push(route.request().url());
    const headers = { "Content-Disposition": `attachment; filename="uploads-${snapshot.id}.tar"` };
    return route.fulfill({ body: "a tar", contentType: "application/octet-stream", headers });
  });
  await page.getByRole("row", { name: "schedule" }).first().getByRole("button", { name: "Actions" }).click();
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download" }).first().click(),
  ]);
  expect(saved.suggestedFilename() === `uploads-${snapshot.id}.tar`, "the download has another name");
  expect(asked.length > 0 && asked.every((url) => url.includes("organization_id=")), "the organization is not told");
  await page.context().unrouteAll();
}
