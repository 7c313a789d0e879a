// From the click on a link to the frame in which what the view is for has been painted.
import { settle } from "../test/browser/look.mjs";
import { newPage } from "../test/browser/pages.mjs";
import { loggedIn } from "./instance.mjs";

/** The list shows so many at once. */
const MOST_ROWS = 100;

/** Where links lead, and what is there once it has arrived: elements, or a text. */
const places = ({ applications }) => [
  { name: "extensions", path: "/extensions", shows: ".catalog-card:nth-child(6)" },
  { name: "code hosts", path: "/connections", shows: ".empty a[href='/connections/new']" },
  { name: "audit log", path: "/audit", shows: ".entries li" },
  { name: "organization", path: "/organization", shows: ".page:has(.role-facts) tbody tr" },
  {
    name: "applications",
    path: "/applications",
    shows: `.page:has(.filters) tbody tr:nth-child(${Math.min(MOST_ROWS, applications)})`,
  },
];

const tabs = ({ application }) =>
  [
    { name: "deployments", part: "/deployments", shows: ".page > .table-frame tbody tr" },
    { name: "logs", part: "/logs", shows: ".log-line" },
    { name: "variables", part: "/variables", shows: "[aria-label='Show: GREETING']" },
    { name: "volumes", part: "/volumes", shows: "tbody a[href$='/volumes/data']" },
    { name: "pushes", part: "/pushes", shows: ".labelled code.break", says: "Nothing has been sent yet" },
    { name: "previews", part: "/previews", shows: ".page section .empty" },
    { name: "settings", part: "/settings", shows: "form .fields input" },
  ].map((tab) => ({ ...tab, path: `/applications/${application}${tab.part}` }));

const overview = ({ application }) => ({
  name: "an application",
  path: `/applications/${application}`,
  shows: ".page:has(> .columns dl.facts) section .table-frame tbody tr",
});

/** Milliseconds. Runs in the page. */
async function follow({ path, shows, says = "" }) {
  const isThere = () => {
    const main = document.querySelector("main");
    return main.querySelector(shows) && main.textContent.includes(says) && !main.querySelector(".loading");
  };
  const link = document.querySelector(`a[href="${path}"]`);
  if (!link) throw new Error(`no link leads to ${path}`);
  if (isThere()) throw new Error(`what is awaited at ${path} was there before`);
  const began = performance.now();
  link.click();
  do {
    if (performance.now() - began > 10_000) throw new Error(`${path} does not show ${shows} ${says}`);
    await new Promise(requestAnimationFrame);
  } while (!isThere());
  // What is there in a frame's turn is painted after it, and before the next message.
  await new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(null);
  });
  return performance.now() - began;
}

async function change(page, place) {
  const ms = await page.evaluate(follow, place);
  await settle(page);
  return ms;
}

/** A new browser, so that each view is opened for the first time, and then again. */
async function round(browser, instance) {
  const context = await loggedIn(browser, instance);
  const page = await newPage(context);
  await page.goto(`${instance.origin}/applications`);
  const [list] = places(instance).slice(-1);
  await page.locator(list.shows).waitFor();
  await settle(page);
  const measured = {};
  for (const visit of ["first", "later"]) {
    const note = async (place) => {
      const ms = await change(page, place);
      measured[place.name] ??= {};
      measured[place.name][visit] ??= ms;
    };
    for (const place of places(instance).slice(0, -1)) {
      await note(place);
      await note(list);
    }
    const one = overview(instance);
    await note(one);
    for (const tab of tabs(instance)) {
      await note(tab);
      await note(one);
    }
    await note(list);
  }
  await context.close();
  return measured;
}

/** Rounds with each instance in turn. */
export async function measureChanges(browser, instances, rounds) {
  const measured = instances.map(() => []);
  for (let number = 0; number < rounds; number += 1) {
    for (const [index, instance] of instances.entries()) measured[index].push(await round(browser, instance));
  }
  return measured;
}
