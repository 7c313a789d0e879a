// Code hosts, pushes, previews and volumes: with a stand-in for the code host, and the real server for everything else.
import { startCodeHost, TOKEN } from "./codeHost.mjs";

export default async function walk(tools) {
  const host = await startCodeHost();
  try {
    await walkWith({ ...tools, host });
  } finally {
    host.stop();
  }
}

async function walkWith(tools) {
  await connect(tools);
}

async function connect({ page, origin, look, expect, host }) {
  await page.goto(`${origin}/connections`);
  await page.getByText("No code host is connected").waitFor();
  await look(page, "connections-empty");
  await page.getByRole("link", { name: "Connect", exact: true }).click();
  await page.getByText("Where are the repositories?").waitFor();
  await look(page, "connection-new-github-app");
  await page.getByLabel("With a token").check();
  await look(page, "connection-new-github");
  await page.getByLabel("Bitbucket Cloud").check();
  await look(page, "connection-new-bitbucket");
  await page.getByLabel("GitLab").check();
  await page.getByLabel("Address").fill(host.origin);
  await page.getByLabel("Token", { exact: true }).fill("wrong");
  await page.getByRole("button", { name: "Connect" }).click();
  await page.locator("[aria-invalid=true]").waitFor();
  await look(page, "connection-wrong-token");
  await page.getByLabel("Token", { exact: true }).fill(TOKEN);
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("heading", { name: "GitLab", level: 1 }).waitFor();
  await page.getByText("team/shop").waitFor();
  await look(page, "connection");
  await page.getByRole("button", { name: "More" }).click();
  await page.getByText("team/service-60").waitFor();
  await page.getByLabel("Find a repository").fill("service-42");
  await page.getByText("team/shop").waitFor({ state: "detached" });
  expect((await page.getByText("team/service-42").count()) === 1, "a repository is not found by its name");
  await page.goto(`${origin}/connections`);
  await page.getByRole("link", { name: "GitLab" }).waitFor();
  await look(page, "connections");
}
