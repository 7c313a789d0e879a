// Every view of the dashboard: what opens it, and what is there. A new view is an entry; `topics/every-view.mjs` fails for an address in
// src/views/index.tsx, or a link in any view, that has none.
import { existsSync, readFileSync } from "node:fs";
import { PULL_REQUEST, TAKEN, UPLOADED } from "./furnish.mjs";
import { PASSWORD } from "./platform.mjs";

/**
 * `route` is the pattern in src/views/index.tsx; `at` makes the address of what `furnish` has made; `heading` is the view's own, with names
 * of words.mjs after `$`; `shows` names words that must be seen there, `says` is text of its own that must; `act` does more before it is looked at; `needs` is the
 * permission without which it explains itself; `pictured: false` has no picture in docs/dashboard.
 */
export const VIEWS = [
  {
    name: "applications",
    route: "/applications",
    at: () => "/applications",
    heading: "Applications",
    shows: ["application"],
  },
  { name: "home", route: "/", at: () => "/", heading: "Applications", shows: ["organization"], pictured: false },
  { name: "new-application", route: "/applications/new", at: () => "/applications/new", heading: "New application" },
  {
    name: "new-application-from-a-connection",
    route: "/applications/new",
    at: () => "/applications/new",
    heading: "New application",
    needs: "deploy:create",
    shows: ["connection", "repository", "branch"],
    act: pickARepository,
  },
  ofApplication("overview", "", ["label", "commit", "branch", "repository"]),
  ofApplication("deployments", "/deployments", ["commit"]),
  ofApplication("deployment", ({ deployed }) => `/deployments/${deployed}`, ["commit", "line"]),
  ofApplication("deployment-failed", ({ failed }) => `/deployments/${failed}`, ["error"]),
  {
    ...ofApplication("plan", "/plan", []),
    says: ["The next deploy", "What has changed"],
    pictured: false,
  },
  ofApplication("logs", "/logs", ["line", "error"]),
  { ...ofApplication("commands", "/commands", ["command", "schedule"], "commands"), pictured: false },
  { ...ofApplication("command", ({ run }) => `/commands/${run}`, ["command", "line"], "commands"), pictured: false },
  { ...ofApplication("figures", "/figures", [], "figures"), pictured: false },
  {
    ...ofApplication("uptime", "/uptime", [], "uptime", ["It answers as it should.", "100 %", "1 good, 0 failed"]),
    pictured: false,
  },
  {
    ...ofApplication("extension-of-application", "", [], "application", ["Changed by the author"]),
    at: ({ taken }) => `/applications/${taken}/extension`,
    heading: TAKEN,
    shows: ["greeting"],
    pictured: false,
  },
  ofApplication("variables", "/variables", ["variable"]),
  ofApplication("domains", "/domains", ["domain"], "domains", ["sent to the main domain (permanently)"]),
  ofApplication("access", "/access", ["visitor", "realm", "header", "html"], "access", ["removed from answers"]),
  ofApplication("settings", "/settings", ["branch", "label"]),
  ofApplication("volumes", "/volumes", ["path"], "volumes"),
  ofApplication("volume", ({ volume }) => `/volumes/${volume}`, ["path", "command", "outcry"], "volumes"),
  ofApplication("pushes", "/pushes", ["event", "sender", "branch", "repository", "connection"], "pushes", [
    "A deployment was queued.",
    "It was not signed with this application's secret.",
  ]),
  {
    ...ofApplication("delivery", ({ delivery }) => `/pushes/${delivery}`, [], "pushes"),
    needs: "deploy:update",
    shows: ["sender", "branch", "commit", "agent", "repository"],
  },
  {
    ...ofApplication("pushes-over-ssh", "/pushes", [], "pushes", ["ssh-ed25519"]),
    at: ({ keyed }) => `/applications/${keyed}/pushes`,
    heading: "$keyed",
    shows: ["keyed", "connection"],
    pictured: false,
  },
  {
    ...ofApplication("upload", "/upload", [], "uploads", ["It is deployed as it is"]),
    at: ({ uploaded }) => `/applications/${uploaded}/upload`,
    heading: UPLOADED,
    needs: "deploy:create",
    shows: [],
    pictured: false,
  },
  {
    ...ofApplication("pushes-here", "/pushes", [], "pushes", ["Or upload a folder from this browser"]),
    at: ({ uploaded }) => `/applications/${uploaded}/pushes`,
    heading: UPLOADED,
    shows: [],
    pictured: false,
  },
  ofApplication("previews", "/previews", ["title", "pullBranch", "variable"], "previews"),
  {
    ...ofApplication("preview", "", ["commit", "pullBranch"]),
    at: ({ preview }) => `/applications/${preview}`,
    heading: `$application-pr-${PULL_REQUEST}`,
  },
  {
    ...ofApplication("preview-access", "", ["visitor", "realm", "header", "html"], "access", [
      "A preview has the access settings of its application.",
    ]),
    at: ({ preview }) => `/applications/${preview}/access`,
    heading: `$application-pr-${PULL_REQUEST}`,
    pictured: false,
  },
  ofOrganization("members", "", ["user"]),
  ofOrganization("invitations", "/invitations", ["invitation"]),
  { ...ofOrganization("shared-variables", "/variables", ["variable"]), pictured: false },
  ofOrganization("certificates", "/certificates", ["issuer"]),
  ofOrganization("organization-keys", "/keys", ["key", "user"]),
  // Only admins see the mail server.
  ofOrganization("notifications", "/notifications", ["mailFrom"]),
  ofOrganization("notices", "/notifications/log", ["keyed", "application"]),
  {
    ...ofOrganization("notice", "", ["refusal"]),
    at: ({ notice }) => `/organization/notifications/${notice}`,
    needs: "webhook:update",
  },
  {
    ...ofOrganization("status-page", "/status", ["application", "pageTitle", "publicName"]),
    folder: "statusPage",
    says: ["status.example.org"],
    pictured: false,
  },
  ofOrganization("organization", "/about", ["organization", "description"]),
  ofInstance("instance", ""),
  ofInstance("instance-users", "/users"),
  ofInstance("instance-settings", "/settings"),
  {
    name: "audit",
    route: "/audit",
    at: () => "/audit",
    heading: "Audit log",
    shows: ["user", "application", "keyed", "key", "connection"],
    act: openEntries,
  },
  {
    name: "connections",
    route: "/connections",
    at: () => "/connections",
    heading: "Code hosts",
    shows: ["connection"],
  },
  { name: "registries", route: "/registries", at: () => "/registries", heading: "Registries", shows: ["connection"] },
  { name: "new-connection", route: "/connections/new", at: () => "/connections/new" },
  {
    name: "connection",
    route: "/connections/:id",
    at: ({ connection }) => `/connections/${connection}`,
    heading: "$connection",
    shows: ["connection", "repository"],
  },
  ofExtensions("extensions", () => "", ["extension"]),
  ofExtensions("new-extension", () => "/new", []),
  ofExtensions("extension", ({ extension }) => `/${extension}`, ["extension", "description"]),
  ofExtensions("extension-run", ({ extension }) => `/${extension}/run`, ["extension", "greeting"]),
  {
    ...ofExtensions("extension-application", () => "/visited/application", ["extension", "greeting"]),
    pictured: false,
  },
  ofExtensions("extension-text", ({ extension }) => `/${extension}/text`, ["extension"]),
  {
    ...ofExtensions("extension-parent", ({ fork }) => `/${fork}/parent`, ["extension", "greeting"], ["Original"]),
    pictured: false,
  },
  ofExtensions("extension-executions", ({ extension }) => `/${extension}/executions`, ["extension"]),
  ofExtensions("installations", () => "/installations", [], ["furnished"]),
  ofExtensions("installation", ({ installation }) => `/installations/${installation}`, ["greeting", "user"]),
  ofExtensions("installation-update", ({ installation }) => `/installations/${installation}/update`, [
    "greeting",
    "description",
  ]),
  ofExtensions("installation-logs", ({ installation }) => `/installations/${installation}/logs`, ["greeting"]),
  ofExtensions("installation-executions", ({ installation }) => `/installations/${installation}/executions`, []),
  ofExtensions("executions", () => "/executions", ["extension"]),
  ofExtensions("execution", ({ execution }) => `/executions/${execution}`, ["extension"]),
  ofAccount("profile", "", ["user"]),
  ofAccount("security", "/security"),
  ofAccount("sessions", "/sessions", ["agent"]),
  ofAccount("keys", "/keys", ["key", "organization"]),
  ofAccount("own-mail", "/notifications", ["organization"]),
  ofAccount("appearance", "/appearance"),
  { name: "not-found", route: "default", at: () => "/nowhere", heading: "There is no such page" },
  // The last one: no link leads out of it.
  {
    name: "reset",
    route: "/",
    folder: "login",
    at: () => "/#reset=used-up",
    heading: "Choose a new password",
    says: ["This link does not work any more."],
    act: tryTheLink,
    pictured: false,
  },
];

function ofApplication(name, path, shows, folder = "application", says = []) {
  const rest = typeof path === "string" ? () => path : path;
  const at = (place) => `/applications/${place.application}${rest(place)}`;
  return {
    name,
    route: "/applications/:id/:tab?/:item?",
    at,
    heading: "$application",
    shows: ["application", ...shows],
    says,
    folder,
  };
}

function ofOrganization(name, path, shows) {
  return {
    name,
    route: "/organization/:tab?/:item?",
    at: () => `/organization${path}`,
    heading: "$organization",
    shows,
  };
}

function ofInstance(name, path) {
  return { name, route: "/instance/:tab?", at: () => `/instance${path}`, shows: [] };
}

function ofExtensions(name, path, shows, says = []) {
  return { name, route: "/extensions/:part?/:item?/:tab?", at: (place) => `/extensions${path(place)}`, shows, says };
}

function ofAccount(name, path, shows = []) {
  return { name, route: "/account/:tab?", at: () => `/account${path}`, heading: "Account", shows };
}

async function pickARepository(page, words) {
  await page.getByLabel("From a connection").check();
  await page.getByLabel(words.repository).check();
}

/** What an entry has changed is only seen when it is open. */
async function openEntries(page) {
  await page.locator("main .entries details").evaluateAll((entries) => {
    for (const entry of entries) entry.open = true;
  });
}

/** That the link leads to no account is told when it is used. */
async function tryTheLink(page) {
  await page.getByLabel("New password").fill(PASSWORD);
  await page.getByRole("button", { name: "Change the password" }).click();
  await page.getByRole("alert").waitFor();
}

/** The patterns of src/views/index.tsx. */
export function routes() {
  const source = readFileSync("src/views/index.tsx", "utf8");
  const found = [...source.matchAll(/<Route (?:path="([^"]+)"|(default))/g)].map(([, path, other]) => path ?? other);
  if (found.length < 5) throw new Error("no addresses are found in src/views/index.tsx");
  return found;
}

/** Those whose address leads somewhere, and whose sources are there. */
export const viewsThatAre = () =>
  VIEWS.filter(({ route, folder = "" }) => routes().includes(route) && existsSync(`src/views/${folder}`));
