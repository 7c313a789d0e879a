// Opens each view as a role sees it.
import { furnish } from "./furnish.mjs";
import { settle } from "./look.mjs";
import { problems } from "./pages.mjs";
import { viewsThatAre } from "./views.mjs";
import { HOSTILE } from "./words.mjs";

const withWords = (text, words) => text?.replaceAll(/\$(\w+)/g, (_, name) => words[name]);

/** Furnished once, with hostile texts, for all topics that look at every view. */
export function furnished(platform, words = HOSTILE) {
  platform.furnished ??= furnish(platform, words);
  return platform.furnished;
}

export async function permissionsOf(platform, role) {
  const [membership] = await platform.api("GET", "/user/organizations", undefined, { role });
  return membership.permissions;
}

/** As a click on a link does it, without loading the dashboard anew. */
async function follow(page, address) {
  await page.evaluate((href) => {
    const link = Object.assign(document.createElement("a"), { href });
    document.body.append(link);
    link.click();
    link.remove();
  }, address);
  await page.waitForURL(`**${address}`, { waitUntil: "commit" });
}

export async function openView(platform, page, view, words = HOSTILE, inPlace = false) {
  const place = await furnished(platform, words);
  const address = view.at(place);
  // What follows a # is read when a page is opened with it.
  if (inPlace && page.url() !== "about:blank" && !address.includes("#")) await follow(page, address);
  else await page.goto(`${platform.origin}${address}`);
  const heading = withWords(view.heading, words);
  await page
    .getByRole("heading", { level: 1, ...(heading && { name: heading, exact: true }) })
    .first()
    .waitFor();
  await settle(page);
  if (view.act) await view.act(page, words);
  await settle(page);
}

/** Calls `onView` with each view that this role may open, in one page. `inPlace`: by links, instead of loading each of them. */
export async function openEveryView(platform, role, onView, { words = HOSTILE, inPlace = false, ...options } = {}) {
  const page = await platform.page(role, options);
  const permissions = await permissionsOf(platform, role);
  for (const view of viewsThatAre()) {
    if (view.needs && !permissions.includes(view.needs)) continue;
    try {
      await openView(platform, page, view, words, inPlace);
      await onView(view, page, permissions);
    } catch (error) {
      // The others are looked at all the same.
      problems.push(`${view.name}, as ${role}: ${error.stack ?? error}`);
    }
  }
  await page.context().close();
}
