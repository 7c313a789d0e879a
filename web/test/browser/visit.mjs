// Opens each view as a role sees it.
import { furnish } from "./furnish.mjs";
import { settle } from "./look.mjs";
import { viewsThatAre } from "./views.mjs";
import { HOSTILE } from "./words.mjs";

const wordOf = (text, words) => (text?.startsWith("$") ? words[text.slice(1)] : text);

/** Furnished once, with hostile texts, for all topics that look at every view. */
export function furnished(platform, words = HOSTILE) {
  platform.furnished ??= furnish(platform, words);
  return platform.furnished;
}

export async function permissionsOf(platform, role) {
  const [membership] = await platform.api("GET", "/user/organizations", undefined, { role });
  return membership.permissions;
}

export async function openView(platform, page, view, words = HOSTILE) {
  const place = await furnished(platform, words);
  await page.goto(`${platform.origin}${view.at(place)}`);
  const heading = wordOf(view.heading, words);
  await page
    .getByRole("heading", { level: 1, ...(heading && { name: heading, exact: true }) })
    .first()
    .waitFor();
  await settle(page);
  if (view.act) await view.act(page, words);
  await settle(page);
}

/** Calls `onView` with each view that this role may open, in one page. */
export async function openEveryView(platform, role, onView, words = HOSTILE, options = {}) {
  const page = await platform.page(role, options);
  const permissions = await permissionsOf(platform, role);
  for (const view of viewsThatAre()) {
    if (view.needs && !permissions.includes(view.needs)) continue;
    await openView(platform, page, view, words);
    await onView(view, page, permissions);
  }
  await page.context().close();
}
