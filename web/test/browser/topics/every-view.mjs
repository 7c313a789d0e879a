// Every view with hostile texts wherever a person or a program can put one: they are seen as text, nothing runs, the policy refuses
// nothing (pages.mjs listens), axe finds nothing, and nothing is wider than the window.
import { look } from "../look.mjs";
import { expect, problems } from "../pages.mjs";
import { routes, VIEWS } from "../views.mjs";
import { furnished, openEveryView } from "../visit.mjs";
import { HOSTILE } from "../words.mjs";

export default async function everyView(platform) {
  const missing = routes().filter((route) => !VIEWS.some((view) => view.route === route));
  expect(missing.length === 0, `test/browser/views.mjs has no view of ${missing}`);
  await refusals(platform);
  const links = new Map();
  await openEveryView(platform, "owner", async (view, page) => {
    const text = await allText(page);
    for (const name of view.shows ?? [])
      expect(text.includes(HOSTILE[name]), `${view.name} does not show ${HOSTILE[name]}`);
    for (const said of view.says ?? []) expect(text.includes(said), `${view.name} does not say ${said}`);
    for (const found of await hostileElements(page))
      problems.push(`${view.name} has made an element of a text: ${found}`);
    for (const href of await linksIn(page)) links.set(href, view.name);
    await look(page, view.name);
  });
  await allLinksAreKnown(platform, links);
}

/** Where the server takes no text that could be more than a name, no view has to be careful. */
async function refusals(platform) {
  const { path } = platform.repository("refused");
  const application = { name: "refused", repository: path };
  for (const fields of [
    { domain: HOSTILE.label },
    { environment: HOSTILE.label },
    { health_path: HOSTILE.label },
    { volumes: [{ name: HOSTILE.label, path: "/data" }] },
  ]) {
    const { status } = await platform.ask("POST", "/deploy/application", { ...application, ...fields });
    expect(status === 400, `${JSON.stringify(fields)} is taken: put it into furnish.mjs`);
  }
  const { extension, application: id } = await furnished(platform);
  for (const fields of [{ domain: HOSTILE.label }, { domain: "refused.example", path: HOSTILE.path }]) {
    const { status } = await platform.ask("POST", `/deploy/application/${id}/domains`, fields);
    expect(status === 400, `${JSON.stringify(fields)} is taken: put it into furnish.mjs`);
  }
  const installation = { name: HOSTILE.label, variables: {} };
  const { status } = await platform.ask("POST", `/extensions/${extension}/run`, installation);
  expect(status === 400, `${JSON.stringify(installation)} is taken: put it into furnish.mjs`);
}

/** Also what is in fields, and what is told when the pointer rests on something. */
const allText = (page) =>
  page.evaluate(() => {
    const titles = [...document.querySelectorAll("[title]")].map(({ title }) => title);
    const values = [...document.querySelectorAll("input, textarea, option")].map(({ value }) => value);
    return [document.body.textContent, ...titles, ...values].join("\n");
  });

/** Whatever could run if the policy did not prevent it: handlers in attributes, and links to scripts. */
const hostileElements = (page) =>
  page.evaluate(() => {
    const hasHandler = (element) => element.getAttributeNames().some((name) => name.startsWith("on"));
    const isScript = ({ protocol }) => protocol !== undefined && !/^https?:$/.test(protocol);
    const found = [...document.querySelectorAll("*")].filter((one) => hasHandler(one) || isScript(one));
    return found.map(({ outerHTML }) => outerHTML.slice(0, 200));
  });

const linksIn = (page) =>
  page.locator("a[href^='/']").evaluateAll((links) => [...new Set(links.map((link) => link.pathname))]);

/** A tab or a page that a view leads to is in the table too. */
async function allLinksAreKnown(platform, links) {
  const place = await furnished(platform);
  const general = (path) =>
    path
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ":id")
      .replace(/^\/extensions\/(?!new|installations|executions)[^/]+/, "/extensions/:id");
  const known = new Set(VIEWS.map((view) => general(view.at(place))));
  for (const [path, from] of links) {
    const isServers = path.startsWith("/api/");
    if (!isServers && !known.has(general(path)))
      problems.push(`${from} leads to ${general(path)}, which test/browser/views.mjs does not have`);
  }
}
