// What the tests in a browser share: pages whose errors are collected, pictures, and what axe finds.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const SIZES = [
  { width: 360, height: 760 },
  { width: 1280, height: 800 },
  { width: 2560, height: 1440 },
];
const AXE = readFileSync("node_modules/axe-core/axe.min.js", "utf8");

export const problems = [];
const shots = process.env.SHOTS;
if (shots) mkdirSync(shots, { recursive: true });

export const launch = () =>
  chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

/** Refusals of requests that a test causes on purpose are in the console too. */
const isExpected = (text) => /status of (401|400|404|409)|ERR_INTERNET_DISCONNECTED/.test(text);

export async function newPage(context) {
  const page = await context.newPage();
  page.on("console", (message) => {
    if (message.type() === "error" && !isExpected(message.text())) problems.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`${page.url()}: ${error.stack ?? error}`));
  return page;
}

/** Looks at a view at each width: nothing may be wider than the window, and axe must find nothing. */
export async function look(page, name) {
  await page.waitForTimeout(350);
  for (const size of SIZES) {
    await page.setViewportSize(size);
    await page.waitForTimeout(60);
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    if (overflow > 0) problems.push(`${name} at ${size.width}: ${overflow} px too wide`);
    if (shots) await page.screenshot({ path: join(shots, `${name}-${size.width}.png`) });
  }
  await page.setViewportSize(SIZES[1]);
  const found = await page.evaluate(`(() => { ${AXE}; return axe.run(document, { resultTypes: ["violations"] }); })()`);
  for (const { id, nodes } of found.violations) {
    const where = nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(" | ");
    problems.push(`${name}: axe ${id}: ${where}`);
  }
}

export function expect(isTrue, sentence) {
  if (!isTrue) problems.push(sentence);
}
