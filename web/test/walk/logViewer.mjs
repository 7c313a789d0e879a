// The log viewer while lines come: it follows at the end, and nothing moves under a reader who has scrolled up. What it does with a log
// of the real server, and how much memory and time it takes, is the topic `log` of test/browser.
import assert from "node:assert/strict";
import { until } from "../browser/until.mjs";
import { openLogViewer } from "../logViewer/open.mjs";

const LINES = 1_000_000;
/** More than the viewer keeps in memory. */
const FAR = 7_000;
/** A hidden page closes its stream after ten seconds. */
const HIDDEN_MS = 11_500;

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export default async function logViewer({ browser, origin, look }) {
  const viewer = await openLogViewer(browser, origin);
  try {
    await follows(viewer);
    await standsStill(viewer);
    await keepsTheSelection(viewer);
    await survivesABrokenStream(viewer);
    await restsWhileHidden(viewer);
    await passesEveryLine(viewer);
    await opensALink(viewer);
    await searches(viewer);
    await wraps(viewer);
    await unfolds(viewer);
    await looksRight(viewer, look);
    assert.equal(await viewer.page.title(), "A log of a million lines", "a text of the log has run");
  } finally {
    await viewer.close();
  }
}

async function follows({ setRate, lastCursor, untilNewest }) {
  await until("the newest line is shown first", async () => (await lastCursor()) === LINES);
  await setRate(100);
  await wait(1_000);
  await untilNewest();
}

async function standsStill({ page, box, newest, first, setRate }) {
  await box.hover();
  await page.mouse.wheel(0, -600);
  await newest.waitFor();
  await wait(300);
  const before = await first();
  await wait(1_000);
  assert.deepEqual(await first(), before);
  assert.match(await newest.textContent(), /\d+ new lines/);
  // Enough to fill what is kept in memory: from then on new lines are only counted.
  await setRate(3_000);
  await wait(3_000);
  assert.deepEqual(await first(), before);
  await setRate(100);
}

/** Selects from one line that is drawn to another one. */
const select = (page, from, to) =>
  page.evaluate(
    ([begin, end]) => {
      const rows = [...document.querySelectorAll(".log-line .log-text")];
      const textIn = (row) => document.createTreeWalker(row, NodeFilter.SHOW_TEXT).nextNode();
      getSelection().setBaseAndExtent(textIn(rows.at(begin)), 1, textIn(rows.at(end)), 1);
    },
    [from, to],
  );
const selected = (page) => page.evaluate(() => getSelection().toString());
const selectionEnds = (page) =>
  page.evaluate(() => [getSelection().anchorNode?.textContent, getSelection().focusNode?.textContent]);

async function keepsTheSelection({ page, newest, untilNewest }) {
  await select(page, 10, 13);
  const chosen = await selected(page);
  assert.ok(chosen.length > 10);
  await wait(1_000);
  assert.equal(await selected(page), chosen, "lines that come change the selection");
  const ends = await selectionEnds(page);
  for (let turn = 0; turn < 10; turn += 1) {
    await page.mouse.wheel(0, -1_000);
    await wait(50);
  }
  assert.deepEqual(await selectionEnds(page), ends, "scrolling changes the selection");
  await page.keyboard.press("Control+c");
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied.split("\n").length, 4, copied);
  await newest.click();
  await untilNewest();
  // At the end, a selection holds the log still.
  await select(page, -6, -4);
  const held = await selected(page);
  await wait(1_000);
  assert.equal(await selected(page), held);
  await newest.click();
  await untilNewest();
}

async function assertWithoutHoles({ drawn }) {
  const cursors = (await drawn()).map(({ cursor }) => cursor);
  assert.deepEqual(
    cursors,
    cursors.map((_, at) => cursors[0] + at),
  );
}

async function survivesABrokenStream(viewer) {
  await viewer.breakOff();
  await until("it follows again", async () => (await viewer.followers()) === 1);
  await viewer.untilNewest();
  await assertWithoutHoles(viewer);
}

/** As another tab would hide it: Chromium without a window has no other way. */
const hide = (page, isHidden) =>
  page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);

async function restsWhileHidden(viewer) {
  await hide(viewer.page, true);
  await wait(HIDDEN_MS);
  assert.equal(await viewer.followers(), 0, "a hidden page follows");
  const before = await viewer.requests();
  await wait(2_000);
  assert.equal(await viewer.requests(), before, "a hidden page asks");
  await hide(viewer.page, false);
  await viewer.untilNewest();
  await assertWithoutHoles(viewer);
}

async function passesEveryLine({ box, drawn, head, setRate }) {
  await setRate(0);
  await box.hover();
  const scrollBy = (by) => box.evaluate((element, value) => element.scrollBy(0, value), by).then(() => wait(20));
  const passed = new Set();
  const bottom = await head();
  while ((await drawn())[0].cursor > bottom - FAR) await scrollBy(-2_000);
  const [{ cursor: turned }] = await drawn();
  for (let last = 0; last < bottom; await scrollBy(400)) {
    for (const { cursor } of await drawn()) passed.add(cursor);
    last = Math.max(...passed);
  }
  const all = Array.from({ length: bottom - turned + 1 }, (_, index) => turned + index);
  assert.deepEqual(all.filter((cursor) => !passed.has(cursor)).slice(0, 5), [], "lines that were skipped");
}

async function opensALink({ page, origin, marked }) {
  await page.goto(`${origin}#line=123456`);
  await page.reload();
  await marked.waitFor();
  assert.equal(await marked.getAttribute("data-cursor"), "123456");
}

async function searches(viewer) {
  const { page, box, marked, drawn } = viewer;
  const field = page.getByRole("searchbox");
  const hits = page.locator(".log-line mark");
  await field.fill("upstream 7");
  await until("hits are marked", async () => (await hits.count()) > 3);
  await page.getByRole("button", { name: "context" }).first().click();
  await marked.waitFor();
  await until("the lines around it are shown", async () => (await drawn()).length > 20);
  await assertWithoutHoles(viewer);
  const cursor = async () => Number(await marked.getAttribute("data-cursor"));
  const hit = await cursor();
  await box.focus();
  await page.keyboard.press("N");
  await until("the hit before it is marked", async () => (await cursor()) < hit);
  await field.fill("");
  await until("no hit is marked", async () => (await hits.count()) === 0);
}

async function wraps(viewer) {
  const { page, box, drawn, first, setRate } = viewer;
  await box.focus();
  await page.keyboard.press("Home");
  await until("the oldest line is in sight", async () => (await first()).cursor === 1);
  await page.keyboard.press("w");
  await page.locator(".log-lines.wraps").waitFor();
  await box.hover();
  await page.mouse.wheel(0, 3_000);
  await wait(500);
  assert.ok((await drawn()).length > 5);
  await assertWithoutHoles(viewer);
  // Their heights are not known before they are drawn.
  await box.focus();
  await page.keyboard.press("End");
  await setRate(200);
  await wait(500);
  for (let turn = 0; turn < 8; turn += 1) await page.mouse.wheel(0, -300);
  await wait(800);
  const before = await first();
  await wait(1_500);
  assert.deepEqual(await first(), before, "wrapped lines move under their reader");
  await setRate(0);
}

/** A line that is JSON shows its fields, and no row lies over another. */
async function unfolds({ page, first }) {
  const before = await first();
  await page.evaluate(() => {
    const { top } = document.querySelector(".log-lines").getBoundingClientRect();
    const buttons = [...document.querySelectorAll(".log-more[aria-expanded]")];
    buttons.find((button) => button.getBoundingClientRect().top > top + 60).click();
  });
  await page.locator(".log-fields").first().waitFor();
  await wait(200);
  assert.deepEqual(await first(), before);
  const gaps = await page.evaluate(() => {
    const rows = [...document.querySelectorAll(".log-line")].map((row) => row.getBoundingClientRect());
    rows.sort((a, b) => a.top - b.top);
    return rows.slice(1).map(({ top }, at) => Math.abs(top - rows[at].bottom));
  });
  assert.ok(Math.max(...gaps) < 0.5, "rows lie over each other");
}

async function looksRight({ page }, look) {
  for (const theme of ["light", "dark"]) {
    await page.evaluate((name) => document.documentElement.setAttribute("data-theme", name), theme);
    await look(page, `log-viewer-${theme}`);
  }
}
