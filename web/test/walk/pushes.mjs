// How an application hears of pushes: its webhook, what a code host sends, its deploy key, and pushes to Windlass itself.

const HOSTILE = `<img src=x onerror=document.title=1>`;

export async function pushes(given) {
  const { page, origin, look, application } = given;
  await page.goto(`${origin}/applications/${application}/pushes`);
  await page.getByText("Nothing has been sent yet").waitFor();
  await look(page, "pushes-empty");
  await setUpTheWebhook(given);
  await changeTheSecret(given);
  await receiveDeliveries(given);
  await openADelivery(given);
  await makeADeployKey(given);
  await pushToWindlass(given);
}

async function setUpTheWebhook({ page, expect, host }) {
  await page.getByRole("button", { name: "Set it up there" }).click();
  await page.getByText("set up at the code host", { exact: true }).waitFor();
  expect(host.seen.hooks.length === 1, "the code host has no webhook");
  await page.getByRole("button", { name: "Remove it there" }).click();
  await page.getByText("not set up at the code host").waitFor();
  expect(host.seen.hooks.length === 0, "the code host still has the webhook");
  await page.getByRole("button", { name: "Set it up there" }).click();
  await page.getByRole("button", { name: "Set it up again" }).waitFor();
}

async function changeTheSecret({ page, look, expect, host }) {
  const before = host.seen.hooks[0].token;
  await page.getByRole("button", { name: "New secret" }).click();
  await page.getByLabel("A secret of your own").fill("short");
  await page.getByRole("dialog").getByRole("button", { name: "New secret" }).click();
  await page.locator("[aria-invalid=true]").waitFor();
  await look(page, "rotate-secret");
  await page.getByLabel("A secret of your own").fill("");
  await page.getByLabel("Take the present secret for").selectOption("600");
  await page.getByRole("dialog").getByRole("button", { name: "New secret" }).click();
  await page.getByText("The secret is changed.").waitFor();
  await page.getByText("The secret before this one is accepted too").waitFor();
  const after = host.seen.hooks[0].token;
  expect(after !== before, "the code host was not told the new secret");
  await page.getByRole("button", { name: "Show: Secret" }).click();
  await page.getByText(after).waitFor();
  await page.getByText("Set it up by hand").click();
  await look(page, "pushes-webhook");
  await page.getByText("Set it up by hand").click();
}

/** What GitLab would send. */
async function deliver(given, token, change) {
  const { origin, host } = given;
  const address = `${host.origin}/team/shop`;
  const push = {
    object_kind: "push",
    event_name: "push",
    ref: "refs/heads/main",
    before: "1".repeat(40),
    after: "2".repeat(40),
    checkout_sha: "2".repeat(40),
    user_username: "grace",
    project: { git_http_url: `${address}.git`, web_url: address, default_branch: "main" },
    commits: [{ id: "2".repeat(40), message: `Sell more ${HOSTILE}`, added: [], modified: ["a"], removed: [] }],
    total_commits_count: 1,
    ...change,
  };
  const headers = {
    "Content-Type": "application/json",
    "X-Gitlab-Event": push.object_kind === "tag_push" ? "Tag Push Hook" : "Push Hook",
    "X-Gitlab-Token": token,
    "X-Gitlab-Webhook-UUID": String(Math.random()),
  };
  await fetch(`${origin}/api/v1/webhook`, { method: "POST", headers, body: JSON.stringify(push) });
}

async function receiveDeliveries(given) {
  const { page, origin, look, expect, host, application } = given;
  const { token } = host.seen.hooks[0];
  await deliver(given, token, {});
  await deliver(given, token, { ref: "refs/heads/next", after: "3".repeat(40), checkout_sha: "3".repeat(40) });
  await deliver(given, token, { object_kind: "tag_push", ref: "refs/tags/v1.0" });
  await deliver(given, "not the secret", {});
  await page.goto(`${origin}/applications/${application}/pushes`);
  await page.getByRole("link", { name: "To the deployment" }).waitFor();
  expect((await page.getByRole("row").count()) === 5, "not all deliveries are listed");
  await look(page, "pushes");
  await page.getByLabel("Verdict").selectOption("refused");
  await page.getByRole("link", { name: "To the deployment" }).waitFor({ state: "detached" });
  expect((await page.getByRole("row").count()) === 2, "deliveries are not filtered by verdict");
  await page.getByRole("table").getByRole("link").first().click();
  await page.getByText("Nothing is kept of a delivery").waitFor();
  await look(page, "delivery-refused");
  await page.getByRole("link", { name: "All deliveries" }).click();
}

async function openADelivery({ page, look, expect }) {
  await page.getByRole("row", { name: "accepted" }).getByRole("link").first().click();
  await page.getByText('"user_username": "grace"').waitFor();
  await look(page, "delivery");
  expect((await page.getByText("x-gitlab-token").count()) === 0, "the token is among the headers");
  await page.getByRole("button", { name: "Replay" }).click();
  await page.getByText("an earlier delivery").waitFor();
  await look(page, "delivery-replayed");
}

async function makeADeployKey({ page, origin, look, expect, api, host, connection }) {
  const overSsh = { name: "blog", repository: "ssh://git@127.0.0.1/team/blog.git", connection_id: connection };
  const { id } = await api(page, "POST", "/deploy/application", overSsh);
  await page.goto(`${origin}/applications/${id}/pushes`);
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByText("added at the code host").waitFor();
  expect(host.seen.keys.length === 1 && !host.seen.keys[0].can_push, "the key is not at the code host, for reading");
  await look(page, "deploy-key");
  await page.getByRole("button", { name: "Another key" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Another key" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await look(page, "deploy-key-remove");
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByRole("button", { name: "Make a key" }).waitFor();
  await api(page, "DELETE", "/deploy/application", { id, name: "blog" });
}

async function pushToWindlass({ page, origin, look, expect }) {
  await page.goto(`${origin}/applications/new`);
  await page.getByLabel("Push to Windlass").check();
  await page.getByLabel("Name").fill("pushed");
  await look(page, "new-pushed");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("heading", { name: "Push to Windlass" }).waitFor();
  expect((await page.getByText("git remote add windlass").count()) === 1, "the command is not shown");
  await look(page, "push-here");
  await page.getByRole("link", { name: "Previews" }).click();
  await page.getByText("Previews need a repository").waitFor();
}
