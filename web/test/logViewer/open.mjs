// Builds a page that has only the log viewer, with a million lines of a server that is only pretended, and opens it.
import { build } from "vite";
import { newContext, newPage } from "../browser/pages.mjs";
import { until } from "../browser/until.mjs";
import { serve } from "../serve.mjs";

const OUT = ".tmp/log-viewer";
/** Lines that may come between two questions to the page. */
const NEAR = 50;

/** `api` is a server for requests that the page should not make. */
export async function openLogViewer(browser, api) {
  await build({
    root: "test/logViewer",
    configFile: "vite.config.ts",
    logLevel: "warn",
    build: { outDir: `../../${OUT}`, emptyOutDir: true },
  });
  const { origin, stop } = await serve({ api, root: OUT });
  const context = await newContext(browser, { permissions: ["clipboard-read", "clipboard-write"] });
  const page = await newPage(context);
  await page.goto(origin);
  const close = async () => {
    await context.close();
    await stop();
  };
  return { ...viewerOn(page), origin, close };
}

/** What a reader of the page sees and does, and what the pretended server is told. */
function viewerOn(page) {
  const box = page.getByRole("log");
  const seen = () => box.evaluate(linesInSight);
  /** After a leap, rows are drawn with the next frame. */
  const drawn = () =>
    until("lines are drawn", async () => {
      const rows = await seen();
      return rows.length > 0 && rows;
    });
  const first = async () => (await drawn())[0];
  const lastCursor = async () => (await drawn()).at(-1).cursor;
  const head = () => page.evaluate(() => globalThis.server.head);
  return {
    page,
    box,
    newest: page.locator(".log-newest"),
    marked: page.locator(".log-line.marked"),
    drawn,
    first,
    lastCursor,
    head,
    followers: () => page.evaluate(() => globalThis.server.followers),
    requests: () => page.evaluate(() => globalThis.server.requests.length),
    breakOff: () => page.evaluate(() => globalThis.server.breakOff()),
    /** Lines that are printed in a second. */
    setRate: (rate) => page.evaluate((value) => Object.assign(globalThis.server, { rate: value }), rate),
    untilNewest: () =>
      until("the newest line is in sight", async () => Math.abs((await lastCursor()) - (await head())) < NEAR),
  };
}

/** Runs in the page: the cursors and places of the lines that are seen, from top to bottom. */
function linesInSight(box) {
  const { top, bottom } = box.getBoundingClientRect();
  return [...box.querySelectorAll(".log-line")]
    .map((row) => ({ cursor: Number(row.dataset.cursor), top: row.getBoundingClientRect().top - top }))
    .filter((row) => row.top > -20 && row.top < bottom - top)
    .sort((a, b) => a.top - b.top);
}
