// A long log, really printed by a container and stored by the server: the viewer opens at its end, scrolls, goes to a time, searches,
// and needs little memory. 100,000 lines; 1,000,000 with --long. Beside it, one that goes on while it is read.
import assert from "node:assert/strict";
import { settle } from "../look.mjs";
import { framesWhileScrolling, heapMb, rendererMb, told } from "../measure.mjs";
import { launch, newContext, newPage } from "../pages.mjs";
import { PASSWORD } from "../platform.mjs";
import { CHATTY } from "../repository.mjs";
import { until } from "../until.mjs";

const LIMIT_MB = 150;
/** Machines differ: this only notices a viewer that stands still. */
const LEAST_FRAMES = 10;
const WIDTH = 7;
const NEEDLE = "needle";
/** What the viewer keeps, and the most that one request adds before it gives up as much on the other side. */
const MOST_KEPT = 5_000 + 500;

const printer = (count) => ({
  Dockerfile: [
    "FROM busybox:1",
    "COPY print.awk /print.awk",
    "EXPOSE 8080",
    `CMD ["sh", "-c", "awk -f /print.awk; mkdir /www; exec httpd -f -p 8080 -h /www"]`,
    "",
  ].join("\n"),
  // Every one of them has a number; one in the middle has what is searched for.
  "print.awk": `BEGIN { for (n = 1; n <= ${count}; n++) printf "line %0${WIDTH}d GET /orders/%d 200 in %d ms%s\\n", n, n, n % 97, n == ${count / 2} ? " ${NEEDLE}" : "" }\n`,
});
const lineText = (n) => `line ${String(n).padStart(WIDTH, "0")} `;

export default async function log(platform) {
  const count = platform.isLong ? 1_000_000 : 100_000;
  const application = await print(platform, count);
  // A browser of its own, so that its one page has one process.
  const browser = await launch();
  try {
    const page = await open(platform, browser, application);
    await opensAtTheEnd(page, count);
    await goesToTheOldestAndBack(page, count);
    await scrolls(page, count);
    await keepsAPart(page);
    await searches(page, count);
    await goesToATime(platform, page, application, count);
    await needsLittleMemory(browser, page, count);
  } finally {
    await browser.close();
  }
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: "printer" });
  await staysWithTheReader(platform);
}

async function print(platform, count) {
  const began = Date.now();
  const repository = platform.repository("printer", printer(count));
  const application = await platform.deploy("printer", { repository, health_seconds: 300 });
  const seconds = platform.isLong ? 300 : 60;
  await until("all lines are stored", async () => (await stored(platform, application, count)).length > 0, seconds);
  console.log(
    `       ${count} lines printed by a container and stored within ${((Date.now() - began) / 1000).toFixed(1)} s`,
  );
  return application;
}

const stored = async (platform, { id }, n) =>
  (
    await platform.api(
      "GET",
      `/deploy/application/logs/${id}?relations=none&page_size=1&search_term=${lineText(n).trim().replace(" ", "+")}`,
    )
  ).logs;

async function open(platform, browser, application) {
  const { email } = await platform.person("viewer");
  const context = await newContext(browser);
  await context.request.post(`${platform.origin}/api/v1/auth/login`, {
    headers: { "X-Windlass-Client": "browser" },
    data: { email, password: PASSWORD },
  });
  const page = await newPage(context);
  await page.goto(`${platform.origin}/applications/${application.id}/logs`);
  return page;
}

/** The numbers of the lines that are seen, from top to bottom. */
const seen = (page) =>
  page.getByRole("log").evaluate((box) => {
    const { top, bottom } = box.getBoundingClientRect();
    return [...box.querySelectorAll(".log-line")]
      .map((row) => ({ at: row.getBoundingClientRect().top, number: /(?:line|said) (\d+)/.exec(row.textContent)?.[1] }))
      .filter(({ at, number }) => number && at > top - 20 && at < bottom)
      .sort((a, b) => a.at - b.at)
      .map(({ number }) => Number(number));
  });

async function untilSeen(page, what, holds) {
  let numbers = [];
  const look = async () => {
    numbers = await seen(page);
    return numbers.length > 0 && holds(numbers) && numbers;
  };
  try {
    return await until(what, look);
  } catch (error) {
    throw new Error(`${error.message}; lines ${numbers[0]} to ${numbers.at(-1)} are seen`, { cause: error });
  }
}

function assertWithoutHoles(numbers) {
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => numbers[0] + index),
  );
}

async function opensAtTheEnd(page, count) {
  await untilSeen(page, "the newest line is shown first", (numbers) => numbers.at(-1) === count);
  const drawn = await page.locator(".log-line").count();
  assert.ok(drawn < 200, `${drawn} lines are drawn, which is more than are seen`);
}

async function goesToTheOldestAndBack(page, count) {
  await page.getByRole("log").focus();
  await page.keyboard.press("Home");
  await untilSeen(page, "the oldest", (numbers) => numbers[0] === 1);
  await page.keyboard.press("End");
  await untilSeen(page, "the newest", (numbers) => numbers.at(-1) === count);
}

/** Up through more than the window holds: every line is passed. */
async function scrolls(page, count) {
  const passed = new Set();
  const target = count - (count > 100_000 ? 7_000 : 2_500);
  await page.getByRole("log").hover();
  await until(
    "some thousand lines are scrolled through",
    async () => {
      const numbers = await seen(page);
      assertWithoutHoles(numbers);
      for (const number of numbers) passed.add(number);
      if (numbers[0] <= target) return true;
      await page.mouse.wheel(0, -20 * (numbers.length - 2));
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      return false;
    },
    60,
  );
  const first = Math.min(...passed);
  const missed = Array.from({ length: count - first }, (_, index) => first + index).filter((n) => !passed.has(n));
  assert.deepEqual(missed.slice(0, 5), [], "lines that were skipped");
}

/** What is read at one end is given up at the other, however far the reader goes. */
async function keepsAPart(page) {
  const [begin] = await seen(page);
  await until("more than the viewer keeps is scrolled through", async () => {
    const [first] = await seen(page);
    if (first < begin - MOST_KEPT) return true;
    await page.mouse.wheel(0, -4_000);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    return false;
  });
  // What can be scrolled through is what is kept: there is nothing below the last line.
  const kept = await page
    .getByRole("log")
    .evaluate((box) => box.scrollHeight / box.querySelector(".log-line").getBoundingClientRect().height);
  assert.ok(kept <= MOST_KEPT, `${kept} lines are kept`);
}

/** While more is printed, nothing moves under a reader who has left the end, until they ask for the newest line. */
async function staysWithTheReader(platform) {
  const application = await platform.deploy("chatty", { repository: platform.repository("chatty", CHATTY) });
  const page = await platform.page("viewer");
  await page.goto(`${platform.origin}/applications/${application.id}/logs`);
  const box = page.getByRole("log");
  await until("there is more than is seen", () => box.evaluate((log) => log.scrollHeight > 1.5 * log.clientHeight));
  await box.hover();
  await page.mouse.wheel(0, -100);
  const told = page.getByRole("button", { name: /^\d+ new lines?/ });
  const unseen = async () => Number.parseInt(await told.textContent(), 10);
  await told.waitFor();
  const before = await seen(page);
  const known = await unseen();
  await until("twenty more are told of", async () => (await unseen()) >= known + 20);
  assert.deepEqual(await seen(page), before, "the reader is moved");
  await told.click();
  const [newest] = (await untilSeen(page, "the newest", (numbers) => numbers.at(-1) >= before.at(-1) + 20)).slice(-1);
  await untilSeen(page, "the log is followed again", (numbers) => numbers.at(-1) >= newest + 5);
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: "chatty" });
}

async function searches(page, count) {
  const field = page.getByRole("searchbox", { name: "Search the log" });
  await field.fill(NEEDLE);
  await page.getByLabel("Only matching lines").check();
  const [found] = await untilSeen(page, "the one hit", (numbers) => numbers.length === 1);
  assert.equal(found, count / 2);
  await page.getByRole("button", { name: "context" }).click();
  const around = await untilSeen(page, "the lines around it", (numbers) => numbers.length > 10);
  assertWithoutHoles(around);
  assert.ok(around.includes(count / 2));
  await field.fill("");
  await page.locator(".log-line mark").waitFor({ state: "detached" });
}

async function goesToATime(platform, page, application, count) {
  await page.getByRole("button", { name: /newest/ }).click();
  await untilSeen(page, "the newest", (numbers) => numbers.at(-1) === count);
  const [middle] = await stored(platform, application, count / 2);
  const second = middle.created_at.slice(0, 19);
  // Not always one that the container has printed: what Windlass notes about the deployment is between those, and in time before them.
  const first = `?relations=none&page_size=1&after=0&start_time=${second}Z`;
  const { logs } = await platform.api("GET", `/deploy/application/logs/${application.id}${first}`);
  await page.getByRole("button", { name: "Time" }).click();
  const local = await page.evaluate((utc) => {
    const at = new Date(`${utc}Z`);
    return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
  }, second);
  await page.getByLabel("Go to a time").fill(local);
  await page.getByRole("button", { name: "Go", exact: true }).click();
  await page.locator(`.log-line[data-cursor="${logs[0].cursor}"]`).waitFor();
  await page.keyboard.press("Escape");
}

async function needsLittleMemory(browser, page, count) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: 4 });
  const frames = await framesWhileScrolling(page, -120, platformSeconds(count));
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: 1 });
  console.log(`       scrolling, processor slowed 4 times: ${told(frames)}`);
  await settle(page);
  const heap = await heapMb(devtools);
  const renderer = await rendererMb(browser);
  const { nodes } = await devtools.send("Memory.getDOMCounters");
  console.log(`       memory: heap ${heap.toFixed(1)} MB, the tab's process ${renderer.toFixed(1)} MB, ${nodes} nodes`);
  assert.ok(heap < LIMIT_MB && renderer < LIMIT_MB, "the tab needs too much memory");
  assert.ok(frames.fps > LEAST_FRAMES, "the viewer stands still while it scrolls");
}

const platformSeconds = (count) => (count > 100_000 ? 10 : 3);
