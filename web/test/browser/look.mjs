// What must hold of every view, whatever it shows.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isQuiet, problems, WIDE } from "./pages.mjs";
import { until } from "./until.mjs";

export const SIZES = [{ width: 360, height: 760 }, WIDE, { width: 2560, height: 1440 }];
const AXE = readFileSync("node_modules/axe-core/axe.min.js", "utf8");
/** What can be well in one scheme and not in the other. */
const OF_COLOURS = ["color-contrast", "link-in-text-block"];

const shots = process.env.SHOTS;
if (shots) mkdirSync(shots, { recursive: true });

/** Waits until the page has what it asked for, has drawn it, and nothing moves any more that will come to an end. */
export async function settle(page) {
  await until(`${page.url()} settles`, async () => {
    if (!isQuiet(page)) return false;
    const isStill = await page.evaluate(async () => {
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      const ends = ({ effect }) => effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY;
      if (document.querySelector(".loading, [aria-busy=true]")) return false;
      return !document.getAnimations().some((moving) => moving.playState === "running" && ends(moving));
    });
    return isStill && isQuiet(page);
  });
}

async function audit(page, name, rules) {
  const isThere = await page.evaluate(() => "axe" in globalThis);
  if (!isThere) await page.evaluate(`(() => { ${AXE} })()`);
  const found = await page.evaluate(
    (ids) =>
      globalThis.axe.run(document, {
        resultTypes: ["violations"],
        ...(ids ? { runOnly: { type: "rule", values: ids } } : {}),
      }),
    rules ?? null,
  );
  for (const { id, nodes } of found.violations) {
    const where = nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join(" | ");
    problems.push(`${name}: axe ${id}: ${where}`);
  }
}

const schemeOf = (page) => page.evaluate(() => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));

/** Looks at a view: nothing may be wider than the window at any width, and axe must find nothing, neither light nor dark. */
export async function look(page, name) {
  await settle(page);
  for (const size of SIZES) {
    await page.setViewportSize(size);
    await settle(page);
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    if (overflow > 0) problems.push(`${name} at ${size.width}: ${overflow} px too wide`);
    if (shots) await page.screenshot({ path: join(shots, `${name}-${size.width}.png`) });
  }
  await page.setViewportSize(WIDE);
  await audit(page, name);
  const own = await schemeOf(page);
  const other = own === "dark" ? "light" : "dark";
  await page.emulateMedia({ colorScheme: other });
  await settle(page);
  await audit(page, `${name}, ${other}`, OF_COLOURS);
  await page.emulateMedia({ colorScheme: own });
}
