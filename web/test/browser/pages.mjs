// Pages that are watched: what goes wrong in any of them is a problem, whatever the test looks at.
import { chromium } from "playwright-core";

/** Sentences about what went wrong, of all pages. */
export const problems = [];

export const WIDE = { width: 1280, height: 800 };

export function expect(isTrue, sentence) {
  if (!isTrue) problems.push(sentence);
}

/** scripts/browser names a library in BROWSER_PRELOAD: no-netlink.c. */
export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
    env: { ...process.env, ...(process.env.BROWSER_PRELOAD && { LD_PRELOAD: process.env.BROWSER_PRELOAD }) },
  });

/** Refusals of requests that a test causes on purpose are in the console too. */
const isExpected = (text) => /status of (401|400|404|409)|ERR_INTERNET_DISCONNECTED/.test(text);

/** In every page, before any script of its own. Hostile texts would call `ran`. */
function watchFromInside() {
  addEventListener("securitypolicyviolation", (event) => {
    globalThis.reportProblem(`the policy refuses ${event.violatedDirective}: ${event.blockedURI} ${event.sample}`);
  });
  const value = (where) => globalThis.reportProblem(`a hostile text runs: ${where}`);
  Object.defineProperty(globalThis, "ran", { value });
}

export async function newContext(browser, options = {}) {
  const context = await browser.newContext({ viewport: WIDE, ...options });
  context.setDefaultTimeout(15_000);
  await context.exposeBinding("reportProblem", ({ page }, text) => problems.push(`${page.url()}: ${text}`));
  await context.addInitScript(watchFromInside);
  return context;
}

export async function newPage(context) {
  const page = await context.newPage();
  const tell = (text) => problems.push(`${page.url()}: ${text}`);
  page.on("console", (message) => {
    if (message.type() === "error" && !isExpected(message.text())) tell(message.text());
  });
  page.on("pageerror", (error) => tell(error.stack ?? error));
  page.on("dialog", (dialog) => {
    // A kept draft makes the browser ask before it leaves.
    if (dialog.type() !== "beforeunload") tell(`a dialog opens: ${dialog.message()}`);
    dialog.accept().catch(() => {});
  });
  page.on("response", (answer) => {
    if (answer.status() === 403) tell(`${answer.request().method()} ${answer.url()} is answered 403`);
  });
  watchRequests(page);
  return page;
}

const openRequests = new WeakMap();
const isStream = (url) => /\/(events|follow)(\?|$)/.test(url);

function watchRequests(page) {
  const open = new Set();
  openRequests.set(page, open);
  page.on("request", (request) => !isStream(request.url()) && open.add(request));
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => open.delete(request));
}

/** Whether the page waits for no answer but those of streams. */
export const isQuiet = (page) => (openRequests.get(page)?.size ?? 0) === 0;
