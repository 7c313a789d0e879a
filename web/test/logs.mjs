// Opens the log viewer with a million lines of a server that is only pretended, and measures it in a real browser.
// node test/logs.mjs [--keep] with Chromium at CHROMIUM or /usr/bin/chromium.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname } from "node:path";
import { chromium } from "playwright-core";
import { build } from "vite";

const SECONDS_FOLLOWED = Number(process.env.SECONDS ?? 20);
const HEAP_LIMIT = 150;
const OUT = ".tmp/logs";
await build({
  root: "test/logs",
  configFile: "vite.config.ts",
  logLevel: "warn",
  build: { outDir: `../../${OUT}`, emptyOutDir: true },
});

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'";
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const files = createServer((request, response) => {
  const path = new URL(request.url, "http://x").pathname;
  try {
    const body = readFileSync(`${OUT}${path === "/" ? "/index.html" : path}`);
    response.writeHead(200, { "Content-Type": TYPES[extname(path)] ?? "text/html", "Content-Security-Policy": POLICY });
    response.end(body);
  } catch {
    response.writeHead(path === "/favicon.ico" ? 204 : 404).end();
  }
});
await new Promise((resolve) => files.listen(0, "127.0.0.1", resolve));
const home = `http://127.0.0.1:${files.address().port}/`;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--enable-precise-memory-info"],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
await context.grantPermissions(["clipboard-read", "clipboard-write"]);
const page = await context.newPage();
const faults = [];
page.on("pageerror", (error) => faults.push(String(error)));
page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
const devtools = await context.newCDPSession(page);
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function heapMb() {
  await devtools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await devtools.send("Runtime.getHeapUsage");
  return usedSize / 1024 / 1024;
}

/** The cursors and places of the lines that are seen. */
const seen = () =>
  page.evaluate(() => {
    const box = document.querySelector(".log-lines");
    const { top, bottom } = box.getBoundingClientRect();
    return [...box.querySelectorAll(".log-line")]
      .map((row) => ({ cursor: Number(row.dataset.cursor), top: row.getBoundingClientRect().top - top }))
      .filter((row) => row.top > -20 && row.top < bottom - top)
      .sort((a, b) => a.top - b.top);
  });
/** After a leap, rows are drawn with the next frame. */
async function drawn() {
  for (;;) {
    const rows = await seen();
    if (rows.length > 0) return rows;
    await wait(10);
  }
}
const first = async () => (await seen())[0];
const lastCursor = async () => (await seen()).at(-1).cursor;
const setRate = (rate) => page.evaluate((value) => Object.assign(globalThis.server, { rate: value }), rate);
const head = () => page.evaluate(() => globalThis.server.head);
const box = page.locator(".log-lines");
const newest = page.locator(".log-newest");
const status = page.locator(".log-status");
async function until(what, holds, ms = 10_000) {
  const end = Date.now() + ms;
  while (!(await holds())) {
    assert.ok(Date.now() < end, `${what}: not within ${ms} ms`);
    await wait(50);
  }
}
const passed = (what) => console.log(`ok: ${what}`);

await page.goto(home);
await page.locator(".log-line").first().waitFor();
await until("the newest line is shown", async () => (await lastCursor()) === 1_000_000);
passed("the newest of 1,000,000 lines is shown first");

await setRate(100);
await wait(1_000);
await until("new lines are followed", async () => Math.abs((await lastCursor()) - (await head())) < 20);
passed("at the bottom, new lines are followed");

await box.hover();
await page.mouse.wheel(0, -600);
await newest.waitFor();
await wait(300);
const before = await first();
await wait(2_000);
const after = await first();
assert.deepEqual(after, before);
assert.match(await newest.textContent(), /\d+ new lines/);
passed(`nothing moves under a reader who has scrolled up (${await newest.textContent()})`);

// Enough to fill the window, so that new lines are only counted.
await setRate(3_000);
await wait(3_000);
assert.deepEqual(await first(), before);
await setRate(100);
passed(`nor when more come than the window takes (${await newest.textContent()})`);

await page.evaluate(() => {
  const rows = [...document.querySelectorAll(".log-line .log-text")].slice(10, 14);
  const text = (row) => document.createTreeWalker(row, NodeFilter.SHOW_TEXT).nextNode();
  getSelection().setBaseAndExtent(text(rows[0]), 1, text(rows[3]), 1);
});
const selected = () => page.evaluate(() => getSelection().toString());
const chosen = await selected();
assert.ok(chosen.length > 10);
await wait(1_500);
assert.equal(await selected(), chosen);
passed("a selection survives lines that come");
const anchored = () =>
  page.evaluate(() => [getSelection().anchorNode?.textContent, getSelection().focusNode?.textContent]);
const ends = await anchored();
for (let turn = 0; turn < 10; turn += 1) {
  await page.mouse.wheel(0, -1_000);
  await wait(50);
}
assert.deepEqual(await anchored(), ends);
await page.keyboard.press("Control+c");
const copied = await page.evaluate(() => navigator.clipboard.readText());
assert.equal(copied.split("\n").length, 4, copied);
passed("and scrolling far away, and is copied as shown:");
console.log(copied.replace(/^/gm, "      "));

await newest.click();
await until("back at the newest", async () => Math.abs((await lastCursor()) - (await head())) < 50);
passed("one click goes to the newest");

await page.evaluate(() => {
  const rows = [...document.querySelectorAll(".log-line .log-text")].slice(-6, -3);
  const text = (row) => document.createTreeWalker(row, NodeFilter.SHOW_TEXT).nextNode();
  getSelection().setBaseAndExtent(text(rows[0]), 0, text(rows[2]), 1);
});
const held = await selected();
await wait(1_500);
assert.equal(await selected(), held);
passed("a selection at the bottom holds the log still, and survives");
await newest.click();
await until("following again", async () => Math.abs((await lastCursor()) - (await head())) < 50);

await page.evaluate(() => globalThis.server.breakOff());
await until("reconnected", async () => (await page.evaluate(() => globalThis.server.followers)) === 1);
await until("caught up", async () => Math.abs((await lastCursor()) - (await head())) < 50);
const cursors = (await seen()).map(({ cursor }) => cursor);
assert.deepEqual(
  cursors,
  cursors.map((_, at) => cursors[0] + at),
);
passed("after a broken connection no line is missing or doubled");

// Hidden as another tab would make it: Chromium without a window has no other way.
const hide = (hidden) =>
  page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
await hide(true);
await wait(11_500);
assert.equal(await page.evaluate(() => globalThis.server.followers), 0);
const asked = await page.evaluate(() => globalThis.server.requests.length);
await wait(3_000);
assert.equal(await page.evaluate(() => globalThis.server.requests.length), asked);
await hide(false);
await until("caught up", async () => Math.abs((await lastCursor()) - (await head())) < 50);
const caught = (await seen()).map(({ cursor }) => cursor);
assert.deepEqual(
  caught,
  caught.map((_, at) => caught[0] + at),
);
passed("a hidden tab closes its connection, asks for nothing, and catches up when it is looked at");

// Back and forth through more than the window holds: every line is passed, and none twice.
await setRate(0);
await box.hover();
const passedLines = new Set();
const bottom = await head();
const scrollBy = (by) => box.evaluate((element, value) => element.scrollBy(0, value), by);
while ((await drawn())[0].cursor > bottom - 7_000) await scrollBy(-2_000).then(() => wait(20));
const turned = (await drawn())[0].cursor;
while ((await drawn()).at(-1).cursor < bottom) {
  for (const { cursor } of await drawn()) passedLines.add(cursor);
  await scrollBy(400);
  await wait(20);
}
for (const { cursor } of await seen()) passedLines.add(cursor);
for (let cursor = turned; cursor <= bottom; cursor += 1)
  assert.ok(passedLines.has(cursor), `line ${cursor} was skipped`);
passed(`scrolling back ${bottom - turned} lines and forth again passes each of them`);

await page.goto(`${home}#line=123456`);
await page.reload();
await page.locator(".log-line.marked").waitFor();
assert.equal(await page.locator(".log-line.marked").getAttribute("data-cursor"), "123456");
passed("a link opens its line and marks it");

await page.getByRole("searchbox").fill("upstream 7");
await until("hits", async () => (await page.locator(".log-line mark").count()) > 3);
await page.getByRole("button", { name: "context" }).first().click();
await page.locator(".log-line.marked").waitFor();
await until("the lines around it", async () => (await seen()).length > 20);
const around = (await seen()).map(({ cursor }) => cursor);
assert.deepEqual(
  around,
  around.map((_, at) => around[0] + at),
);
const hit = Number(await page.locator(".log-line.marked").getAttribute("data-cursor"));
await box.focus();
await page.keyboard.press("N");
await until(
  "the hit before",
  async () => Number(await page.locator(".log-line.marked").getAttribute("data-cursor")) < hit,
);
passed("a search shows hits, the lines around one, and goes to the one before");
await page.getByRole("searchbox").fill("");
await until("no search", async () => (await page.locator(".log-line mark").count()) === 0);

await box.focus();
await page.keyboard.press("Home");
await until("the oldest", async () => (await first())?.cursor === 1);
await page.keyboard.press("w");
await page.locator(".log-lines.wraps").waitFor();
await page.mouse.wheel(0, 3_000);
await wait(500);
const wrapped = await seen();
assert.ok(wrapped.length > 5);
for (let at = 1; at < wrapped.length; at += 1) assert.ok(wrapped[at].top > wrapped[at - 1].top);
for (let at = 1; at < wrapped.length; at += 1) assert.equal(wrapped[at].cursor, wrapped[at - 1].cursor + 1);
passed("Home goes to the oldest, w wraps");

await box.focus();
await page.keyboard.press("End");
await setRate(200);
await wait(500);
await box.hover();
for (let turn = 0; turn < 8; turn += 1) await page.mouse.wheel(0, -300);
await wait(800);
const wrappedBefore = await first();
await wait(2_000);
assert.deepEqual(await first(), wrappedBefore);
await setRate(0);
passed("wrapped lines do not move under a reader either");
const anchorBefore = await first();
await page.evaluate(() => {
  const { top } = document.querySelector(".log-lines").getBoundingClientRect();
  const buttons = [...document.querySelectorAll(".log-more[aria-expanded]")];
  buttons.find((button) => button.getBoundingClientRect().top > top + 60).click();
});
await page.locator(".log-fields").first().waitFor();
await wait(200);
assert.deepEqual(await first(), anchorBefore);
const rows = await page.evaluate(() =>
  [...document.querySelectorAll(".log-line")]
    .map((row) => row.getBoundingClientRect())
    .map(({ top, bottom }) => ({ top, bottom }))
    .sort((a, b) => a.top - b.top),
);
for (let at = 1; at < rows.length; at += 1) assert.ok(Math.abs(rows[at].top - rows[at - 1].bottom) < 0.5);
passed("a JSON line unfolds, and no row lies over another");
await box.focus();
await page.keyboard.press("w");

const axe = readFileSync("node_modules/axe-core/axe.min.js", "utf8");
for (const theme of ["light", "dark"]) {
  await page.evaluate((name) => {
    document.documentElement.dataset.theme = name;
  }, theme);
  await devtools.send("Runtime.evaluate", { expression: axe });
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).slice(0, 3)}`);
  assert.deepEqual(told, []);
  passed(`axe finds nothing (${theme})`);
}
await page.screenshot({ path: ".tmp/logs.png" });

/** Frames while the reader scrolls for some seconds, as a wheel does. */
async function framesWhileScrolling(deltaY, seconds) {
  await box.hover();
  await page.evaluate(() => {
    globalThis.frames_ = [];
    globalThis.longTasks = [];
    new PerformanceObserver((list) =>
      globalThis.longTasks.push(...list.getEntries().map(({ duration }) => duration)),
    ).observe({ type: "longtask" });
    const count = (now) => {
      if (!globalThis.frames_) return;
      globalThis.frames_.push(now);
      requestAnimationFrame(count);
    };
    requestAnimationFrame(count);
  });
  const end = Date.now() + seconds * 1000;
  while (Date.now() < end) {
    await page.mouse.wheel(0, deltaY);
    await wait(16);
  }
  return page.evaluate(() => {
    const times = globalThis.frames_;
    globalThis.frames_ = null;
    const gaps = times.slice(1).map((time, at) => time - times[at]);
    gaps.sort((a, b) => a - b);
    const fps = (1000 * gaps.length) / gaps.reduce((sum, gap) => sum + gap, 0);
    return {
      frames: gaps.length,
      fps,
      p95: gaps[Math.floor(gaps.length * 0.95)],
      worst: gaps.at(-1),
      longTasks: globalThis.longTasks,
    };
  });
}
const told = ({ fps, p95, worst, longTasks }) =>
  `${fps.toFixed(1)} frames/s, 95% under ${p95.toFixed(1)} ms, worst ${worst.toFixed(0)} ms, long tasks ${longTasks.length} (${Math.round(Math.max(0, ...longTasks))} ms at most)`;

await page.keyboard.press("End");
await until("the newest", async () => (await lastCursor()) === (await head()));
await devtools.send("Emulation.setCPUThrottlingRate", { rate: 4 });
const from = (await first()).cursor;
const scrolling = await framesWhileScrolling(-120, 10);
console.log(`scrolling through ${from - (await first()).cursor} lines, 4x slowed: ${told(scrolling)}`);
const events = [];
devtools.on("Tracing.dataCollected", ({ value }) => events.push(...value));
await devtools.send("Tracing.start", {
  transferMode: "ReportEvents",
  categories: "devtools.timeline,disabled-by-default-devtools.timeline",
});
const profiled = await framesWhileScrolling(-120, 5);
const traced = new Promise((resolve) => devtools.once("Tracing.tracingComplete", resolve));
await devtools.send("Tracing.end");
await traced;
// What the thread itself took, so that other programs on the machine do not count.
const spent = new Map();
const thread = events.find(({ name, args }) => name === "EventDispatch" && args?.data?.type === "scroll")?.tid;
for (const { name, tid, tdur = 0 } of events) {
  if (tid === thread) spent.set(name, (spent.get(name) ?? 0) + tdur / 1000);
}
const perFrame = (name) => ((spent.get(name) ?? 0) / profiled.frames).toFixed(1);
const parts = ["EventDispatch", "UpdateLayoutTree", "Layout", "PrePaint", "Paint", "Layerize", "FireAnimationFrame"];
console.log(
  `  the page's thread needs ${perFrame("RunTask")} ms a frame: ${parts.map((name) => `${name} ${perFrame(name)}`).join(", ")}`,
);
console.log(`  (TimerFire, which is the pretended server: ${perFrame("TimerFire")})`);
const idle = await framesWhileScrolling(0, 3);
console.log(`without scrolling, 4x slowed: ${told(idle)}`);
await devtools.send("Emulation.setCPUThrottlingRate", { rate: 1 });
const unslowed = await framesWhileScrolling(-120, 5);
console.log(`the same, not slowed: ${told(unslowed)}`);

await page.keyboard.press("End");
await until("the newest", async () => (await lastCursor()) === (await head()));
await setRate(1_000);
const began = await head();
await wait(SECONDS_FOLLOWED * 1000);
const printed = (await head()) - began;
await until("it keeps up", async () => Math.abs((await lastCursor()) - (await head())) < 200);
await setRate(0);
await until("it ends at the last line", async () => (await lastCursor()) === (await head()));
const heap = await heapMb();
console.log(
  `followed ${printed} lines in ${SECONDS_FOLLOWED} s (${await status.textContent()}); heap ${heap.toFixed(1)} MB`,
);
assert.ok(heap < HEAP_LIMIT);
assert.deepEqual(faults, []);
assert.equal(await page.title(), "A log of a million lines");
passed("no error, no report of the policy");
await browser.close();
files.close();
