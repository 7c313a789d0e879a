// What views offer to do, and the permission that the request behind it takes; "" for what everyone may do, such as changes of the own
// account. A button that is not here makes `topics/roles.mjs` fail: it wants to be judged once.

const LOG = { "Filter (0)": "", Time: "", Go: "", Download: "", "To the newest line": "" };

/** By the pattern of the address in src/views/index.tsx, or by the `folder` of a view beside it. */
export const OFFERS = {
  "/": { "New application": "deploy:create" },
  "/applications": { "New application": "deploy:create" },
  "/applications/new": {
    Deploy: "deploy:create",
    "Look at the repository": "deploy:create",
    Cancel: "",
    "To the applications": "",
  },
  "/applications/:id/:tab?/:item?": {
    ...LOG,
    Deploy: "deploy:update",
    Actions: "deploy:update",
    Restart: "deploy:update",
    Stop: "deploy:update",
    "Roll back": "deploy:update",
    "Take the newer version": "deploy:update",
    "Edit as text": "deploy:update",
    Export: "variable:read",
    Import: "deploy:update",
    "Compare two": "",
    "Deploy now": "deploy:update",
    "Show: $variable": "variable:read",
    Save: "deploy:update",
    "Delete…": "deploy:delete",
  },
  "/account/:tab?": {
    Save: "",
    "Change password": "",
    "Send a link": "",
    "Set up": "",
    End: "",
    "New API key": "",
    "Revoke: $key": "",
  },
  commands: {
    "Run a command": "deploy:update",
    "Add a schedule": "deploy:update",
    "Run now: $schedule": "deploy:update",
    "Change: $schedule": "deploy:update",
    "Delete: $schedule": "deploy:update",
  },
  uploads: { "Upload and deploy": "deploy:create" },
  volumes: {
    "Add a volume": "deploy:update",
    Change: "deploy:update",
    Delete: "deploy:delete",
    "Take a snapshot": "deploy:update",
    Restore: "deploy:update",
    Download: "deploy:update",
  },
  domains: {
    "Add domain": "domain:create",
    "Check: $main": "domain:read",
    "Check: $domain/api": "domain:read",
    "Set up: $main": "domain:update",
    "Set up: $domain/api": "domain:update",
    "Remove: $domain/api": "domain:delete",
  },
  access: {
    "Save: Networks": "deploy:update",
    "Save: Realm": "deploy:update",
    "Save: Limits": "deploy:update",
    "Save: Headers and compression": "deploy:update",
    "Start maintenance": "deploy:update",
    "Add user": "deploy:update",
    "Change password: $visitor": "deploy:update",
    "Remove: $visitor": "deploy:update",
    "Add header": "deploy:update",
    "Change: server": "deploy:update",
    "Remove: server": "deploy:update",
    "Change: x-robots-tag": "deploy:update",
    "Remove: x-robots-tag": "deploy:update",
    "Add page": "deploy:update",
    "Change: 503": "deploy:update",
    "Remove: 503": "deploy:update",
  },
  pushes: {
    "New secret": "deploy:update",
    "Show: Secret": "deploy:update",
    Copy: "",
    "Set it up there": "deploy:update",
    Replay: "deploy:update",
    "To your API keys": "",
    "Another key": "deploy:update",
    Remove: "deploy:update",
  },
  previews: {
    "New preview": "deploy:create",
    Change: "deploy:update",
    Delete: "deploy:delete",
    // A preview's logs are among them.
    Actions: "",
  },
  "/organization/:tab?": {
    Invite: "member:create",
    "Change role: $person": "member:update",
    "Remove $person": "member:delete",
    Leave: "",
    "New link for $invitation": "member:create",
    "Withdraw the invitation for $invitation": "member:create",
    "Edit as text": "organization:update",
    "Show: $variable": "variable:read",
    "Upload a certificate": "domain:create",
    "Delete: furnished.example.org": "domain:delete",
    "Revoke: $key": "api_key:delete",
    "To your own API keys": "",
    "Set up: Slack": "webhook:create",
    "Set up: Discord": "webhook:create",
    "Set up: Another receiver": "webhook:create",
    "Set up: Mail server": "smtp:update",
    Save: "organization:update",
    "Delete…": "organization:delete",
  },
  "/audit": { Verify: "" },
  // Only an admin of the installation is shown more, whatever the role in an organization.
  // Who is no admin of the installation is only told so.
  "/instance/:tab?": { "To the applications": "", "Password link for $person": "" },
  "/connections": { Connect: "connection:create" },
  "/registries": {
    "Add credentials": "connection:create",
    "Change: registry.example.org": "connection:update",
    "Delete: registry.example.org": "connection:delete",
  },
  "/connections/new": { "Go on": "connection:create", Cancel: "", "To the applications": "" },
  "/connections/:id": { Change: "connection:update", Delete: "connection:delete", Deploy: "deploy:create" },
  "/extensions/:part?/:item?/:tab?": {
    ...LOG,
    Copy: "",
    Cancel: "",
    Previous: "",
    Next: "",
    "To the installation": "",
    "New extension": "extension:create",
    Create: "extension:create",
    Save: "extension:create",
    Fork: "extension:create",
    Actions: "extension:create",
    "Delete…": "extension:delete",
    "Install…": "extension:run",
    Install: "extension:run",
    Deploy: "deploy:create",
    "Take over the changes": "extension:create",
    Update: "extension:run",
    "Update…": "extension:run",
    "Uninstall…": "extension:run",
  },
  login: { "Change the password": "", Cancel: "" },
  default: { "To the applications": "" },
};

/** What this view may offer. */
export const offersOf = ({ route, folder }) => ({ ...OFFERS[route], ...OFFERS[folder] });

/** The names of all buttons in the view, also of those in menus that are closed. */
export const offered = (page) =>
  page
    .locator("main")
    .evaluate((main) =>
      [...main.querySelectorAll("button, a.button, [role=button], input[type=submit]")]
        .filter((button) => button.closest("[popover]") || button.checkVisibility())
        .map((button) => (button.getAttribute("aria-label") ?? button.textContent).trim()),
    );
