// Offers of newer templates: what an update of something installed would bring, and what a fork does not have of its parent.
import assert from "node:assert/strict";
import { look } from "../look.mjs";
import { until } from "../until.mjs";

const textOf = ({ greeting = "Good morning", colour = "red", version = "1.0.0" }) => `
metadata:
  id: almanac
  name: Almanac
  description: A page with a greeting.
  author: Ada
  category: Utility
  type: install
  version: "${version}"
variables:
  greeting: { type: string, default: ${greeting}, description: What it says }
  colour: { type: string, default: ${colour}, description: What it looks like }
execution:
  run:
    - name: Start it
      type: docker_compose
      properties:
        action: up
        compose:
          services:
            page:
              image: busybox:1
              environment: { GREETING: "{{ greeting }}", COLOUR: "{{ colour }}" }
              command: ["sh", "-c", "mkdir /www; exec httpd -f -p 8080 -h /www"]
`;

export default async function updates(platform) {
  const { id } = await platform.api("POST", "/extensions", { yaml_content: textOf({}) });
  const fork = await platform.api("POST", `/extensions/${id}/fork`, {});
  const installation = await install(platform, id);
  const newer = { greeting: "Good day", colour: "blue", version: "1.1.0" };
  await platform.api("PUT", `/extensions/${id}`, { yaml_content: textOf(newer) });
  const page = await platform.page("admin");
  await takeAnUpdate(platform, page, installation);
  await catchUp(platform, page, fork);
  await refuseWhatWasNotSeen(platform, page, id, fork);
  await lookAsAViewer(platform, id, fork);
  const path = `/extensions/installations/${installation.id}`;
  const { id: uninstall } = await platform.api("DELETE", path, { name: installation.name });
  await completed(platform, uninstall);
}

async function completed(platform, execution) {
  await until("the execution is completed", async () => {
    const { status } = await platform.api("GET", `/extensions/execution/${execution}`);
    return status === "completed";
  });
}

async function install(platform, extension) {
  const { id } = await platform.api("POST", `/extensions/${extension}/run`, { variables: { greeting: "Set here" } });
  await completed(platform, id);
  const { installations } = await platform.api("GET", "/extensions/installations");
  return installations.find(({ extension_id }) => extension_id === extension);
}

const valuesOf = async (platform, { id }) =>
  JSON.parse((await platform.api("GET", `/extensions/installations/${id}`)).variable_values);

const greetingIn = (page) => page.getByRole("textbox", { name: /^Greeting/ }).inputValue();

/** A value that was set stays unless the new default is taken; one that was not set stays as well. */
async function takeAnUpdate(platform, page, installation) {
  await page.goto(`${platform.origin}/extensions/installations/${installation.id}`);
  await page.getByRole("link", { name: "Update…" }).click();
  await page.getByRole("heading", { name: "Changed on both sides (1)" }).waitFor();
  await page.getByText("variables.greeting.default", { exact: true }).waitFor();
  await page.getByText("variables.colour.default", { exact: true }).waitFor();
  await look(page, "installation-offer");
  assert.equal(await greetingIn(page), "Set here");
  await page.getByLabel("Take the new default of greeting").check();
  await until("the form shows the new default", async () => {
    return (await greetingIn(page)) === "Good day";
  });
  await page.locator("section[aria-busy=false]").waitFor();
  await page.getByRole("button", { name: "Update", exact: true }).click();
  await page.waitForURL("**/executions/*");
  await completed(platform, page.url().split("/").pop());
  const values = await valuesOf(platform, installation);
  assert.deepEqual([values.greeting, values.colour], ["Good day", "red"]);
}

/** Both have changed a field: the user says whose change counts. */
async function catchUp(platform, page, fork) {
  const own = fork.yaml_content.replace("default: Good morning", "default: Our own");
  await platform.api("PUT", `/extensions/${fork.id}`, { yaml_content: own });
  await page.goto(`${platform.origin}/extensions/${fork.extension_id}`);
  await page.getByText("behind", { exact: true }).waitFor();
  await page.getByRole("link", { name: "See what has changed" }).click();
  await page.getByRole("heading", { name: "The original has changed" }).waitFor();
  const take = page.getByRole("button", { name: "Take over the changes" });
  assert.ok(await take.isDisabled(), "conflicts are taken without a decision");
  await look(page, "fork-offer");
  await page.getByLabel("Those made here").check();
  await page.getByText("What changes in the text").click();
  await page.locator("ins").getByText("blue").first().waitFor();
  await look(page, "fork-offer-text");
  await take.click();
  await page.getByText("The changes are taken over.").waitFor();
  const { yaml_content, is_behind } = await platform.api("GET", `/extensions/${fork.id}`);
  assert.ok(yaml_content.includes("Our own") && yaml_content.includes("blue"), yaml_content);
  assert.equal(is_behind, false);
}

/** The parent changes while its offer is looked at. */
async function refuseWhatWasNotSeen(platform, page, parent, fork) {
  await platform.api("PUT", `/extensions/${parent}`, { yaml_content: textOf({ colour: "green", version: "1.2.0" }) });
  await page.goto(`${platform.origin}/extensions/${fork.extension_id}/parent`);
  const take = page.getByRole("button", { name: "Take over the changes" });
  await take.waitFor();
  await platform.api("PUT", `/extensions/${parent}`, { yaml_content: textOf({ colour: "brown", version: "1.3.0" }) });
  await page.getByLabel("The author's", { exact: true }).check();
  await take.click();
  await page.getByRole("alert").filter({ hasText: "another text by now" }).waitFor();
  await page.getByText("brown").first().waitFor();
  await take.click();
  await page.getByText("The changes are taken over.").waitFor();
  const { yaml_content } = await platform.api("GET", `/extensions/${fork.id}`);
  assert.ok(yaml_content.includes("brown"), yaml_content);
}

async function lookAsAViewer(platform, parent, fork) {
  await platform.api("PUT", `/extensions/${parent}`, { yaml_content: textOf({ colour: "white", version: "1.4.0" }) });
  const page = await platform.page("viewer");
  await page.goto(`${platform.origin}/extensions/${fork.extension_id}/parent`);
  await page.getByText("Admins of this organization can take over").waitFor();
  assert.equal(await page.getByRole("button", { name: "Take over the changes" }).count(), 0, "a viewer can take it");
}
