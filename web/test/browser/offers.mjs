// What views offer to do, and the permission that the request behind it takes; "" for what everyone may do, such as changes of the own
// account. A button that is not here makes `topics/roles.mjs` fail: it wants to be judged once.

const LOG = { "Filter (0)": "", Time: "", Go: "", Download: "", "To the newest line": "" };

/** By the pattern of the address in src/views/index.tsx. */
export const OFFERS = {
  "/": { "New application": "deploy:create" },
  "/applications": { "New application": "deploy:create" },
  "/applications/new": { Deploy: "deploy:create", Cancel: "", "To the applications": "" },
  "/applications/:id/:tab?/:item?": {
    ...LOG,
    Deploy: "deploy:update",
    Actions: "deploy:update",
    Restart: "deploy:update",
    Stop: "deploy:update",
    "Roll back": "deploy:update",
    "Edit as text": "deploy:update",
    "Show: $variable": "variable:read",
    Save: "deploy:update",
    "Delete…": "deploy:delete",
  },
  "/account/:tab?": {
    Save: "",
    "Change password": "",
    "Set up": "",
    End: "",
    "New API key": "",
    Revoke: "",
  },
  default: { "To the applications": "" },
};

/** The names of all buttons in the view, also of those in menus that are closed. */
export const offered = (page) =>
  page
    .locator("main")
    .evaluate((main) =>
      [...main.querySelectorAll("button, a.button, [role=button], input[type=submit]")]
        .filter((button) => button.closest("[popover]") || button.checkVisibility())
        .map((button) => (button.getAttribute("aria-label") ?? button.textContent).trim()),
    );
