// A folder and a tar of the user's machine: uploaded for a new application and for one that is there, after a lost connection, cancelled,
// refused, and not offered to viewers.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { look } from "../look.mjs";
import { dockerfile, says } from "../repository.mjs";
import { until } from "../until.mjs";

const PARTS = "**/api/v1/deploy/application/upload/*?offset=*";
const SEND = "Upload and deploy";

export default async function uploads(platform) {
  const page = await platform.page("member");
  const application = await uploadANewOne(platform, page);
  await goOnAfterALostConnection(platform, page, application);
  await cancel(platform, page, application);
  await showWhyItIsRefused(platform, page, application);
  await uploadATar(platform, page, application);
  await notForViewers(platform, application);
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: "handed" });
}

/** A folder of its own for each, as a user has it: with history, packages and a script. */
function folder(platform, name, files) {
  const path = join(platform.folder, "uploads", name);
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    writeFileSync(join(path, file), content);
  }
  return path;
}

const deployed = async (platform, page, domain, text) => {
  await page.waitForURL("**/deployments/*", { timeout: 60_000 });
  const { status } = await platform.ended(page.url().split("/").pop());
  assert.equal(status.status, "deployed");
  await until(`${domain} says ${text}`, async () => (await platform.visit(domain)).text === text);
};

/** Its script is run by its name, so it must be executable, which browsers do not tell. */
async function uploadANewOne(platform, page) {
  const path = folder(platform, "handed", {
    Dockerfile: dockerfile("COPY start.sh /start.sh").replace(/CMD .*/, 'CMD ["/start.sh"]'),
    "start.sh": "#!/bin/sh\nexec httpd -f -p 8080 -h /www\n",
    "www/index.html": "Handed over\n",
    [`www/${"deep/".repeat(30)}long.txt`]: "a long name\n",
    "www/ünï.txt": "another name\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    "node_modules/left/index.js": "out\n",
  });
  chmodSync(join(path, "start.sh"), 0o755);
  await page.goto(`${platform.origin}/applications/new`);
  await page.getByLabel("On this machine").check();
  const submit = page.getByRole("button", { name: "Deploy", exact: true });
  assert.ok(await submit.isDisabled(), "it can be deployed without a folder");
  await page.getByLabel("Folder of this machine").setInputFiles(path);
  await page.getByText("handed: 5 files").waitFor();
  await page.getByLabel("Send node_modules too").check();
  await page.getByText("handed: 6 files").waitFor();
  await page.getByLabel("Send node_modules too").uncheck();
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "handed", "no name is proposed");
  await look(page, "new-application-upload");
  await submit.click();
  await deployed(platform, page, "handed.localhost", "Handed over");
  assert.equal((await platform.visit("handed.localhost", "/%C3%BCn%C3%AF.txt")).text, "another name");
  assert.equal((await platform.visit("handed.localhost", `/${"deep/".repeat(30)}long.txt`)).text, "a long name");
  const { applications } = await platform.api("GET", "/deploy/applications?search=handed");
  const [{ id }] = applications;
  return platform.api("PUT", "/deploy/application", { id, stop_seconds: 1, drain_seconds: 1 });
}

async function choose(platform, page, application, path) {
  await page.goto(`${platform.origin}/applications/${application.id}/upload`);
  await page.getByLabel("Folder of this machine").setInputFiles(path);
  await page.getByRole("button", { name: SEND }).click();
}

/** Larger than one part. */
const large = (platform, name) => folder(platform, name, { ...says(name), "random.bin": randomBytes(3 * 1024 * 1024) });

/** The connection is lost after the first part; what has arrived is not sent again. */
async function goOnAfterALostConnection(platform, page, application) {
  const offsets = [];
  await page.route(PARTS, (route) => {
    const offset = Number(new URL(route.request().url()).searchParams.get("offset"));
    if (offset > 0) return route.abort("internetdisconnected");
    offsets.push(offset);
    return route.fallback();
  });
  await choose(platform, page, application, large(platform, "resumed"));
  await page.getByText("It goes on by itself where it has stopped").waitFor();
  await look(page, "upload-interrupted");
  await page.unroute(PARTS);
  page.on("request", (request) => {
    const offset = new URL(request.url()).searchParams.get("offset");
    if (request.method() === "PATCH" && offset !== null) offsets.push(Number(offset));
  });
  await page
    .getByRole("button", { name: "Try now" })
    .click()
    .catch(() => {
      // It has gone on by itself meanwhile.
    });
  await deployed(platform, page, "handed.localhost", "resumed");
  assert.equal(offsets.filter((offset) => offset === 0).length, 1, `it began anew: ${offsets}`);
}

async function cancel(platform, page, application) {
  await page.route(PARTS, (route) => route.abort("internetdisconnected"));
  await choose(platform, page, application, large(platform, "cancelled"));
  await page.getByText("It goes on by itself where it has stopped").waitFor();
  const deleted = page.waitForResponse((answer) => answer.request().method() === "DELETE");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  assert.equal((await deleted).status(), 200, "the server keeps it");
  await page.getByRole("button", { name: SEND }).waitFor();
  await look(page, "upload");
  await page.unroute(PARTS);
}

/** By the server, in its own words. */
async function showWhyItIsRefused(platform, page, application) {
  const path = folder(platform, "refused", says("refused"));
  symlinkSync("/etc/passwd", join(path, "secrets"));
  const tar = join(platform.folder, "uploads", "refused.tar");
  execFileSync("tar", ["-C", path, "-cf", tar, "."]);
  await page.goto(`${platform.origin}/applications/${application.id}/upload`);
  await page.getByLabel("A tar").check();
  await page.getByLabel("Tar of this machine").setInputFiles(tar);
  await page.getByRole("button", { name: SEND }).click();
  await page.getByRole("alert").filter({ hasText: "is a symbolic link that leads out of the folder" }).waitFor();
  await look(page, "upload-refused");
  await page.getByRole("button", { name: "Choose something else" }).click();
  await page.getByRole("button", { name: SEND }).waitFor();
}

async function uploadATar(platform, page, application) {
  const path = folder(platform, "packed", says("packed"));
  const tar = join(platform.folder, "uploads", "packed.tar.gz");
  execFileSync("tar", ["-C", path, "-czf", tar, "."]);
  await page.goto(`${platform.origin}/applications/${application.id}/upload`);
  await page.getByLabel("A tar").check();
  await page.getByLabel("Tar of this machine").setInputFiles(tar);
  await page.getByText("packed.tar.gz: ").waitFor();
  await page.getByRole("button", { name: SEND }).click();
  await deployed(platform, page, "handed.localhost", "packed");
}

async function notForViewers(platform, application) {
  const page = await platform.page("viewer");
  await page.goto(`${platform.origin}/applications/${application.id}/upload`);
  await page.getByText("your role only lets you look").waitFor();
  assert.equal(
    await page.getByRole("link", { name: "Upload", exact: true }).count(),
    0,
    "a viewer is offered to upload",
  );
  assert.equal(await page.getByRole("button", { name: SEND }).count(), 0, "a viewer can upload");
}
