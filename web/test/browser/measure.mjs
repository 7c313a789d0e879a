// What a page takes: memory and frames.
import { readFileSync } from "node:fs";

const MB = 1024 * 1024;

export async function heapMb(devtools) {
  await devtools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await devtools.send("Runtime.getHeapUsage");
  return usedSize / MB;
}

/** What the largest process of a page has for itself, as the browser's own task manager counts it. */
export async function rendererMb(browser) {
  const devtools = await browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
  const renderers = processInfo.filter(({ type }) => type === "renderer");
  const ownKb = renderers.map(({ id }) =>
    Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1] ?? 0),
  );
  return Math.max(...ownKb) / 1024;
}

/** Frames while the reader turns the wheel for some seconds. */
export async function framesWhileScrolling(page, deltaY, seconds) {
  await page.getByRole("log").hover();
  await page.evaluate(() => {
    globalThis.frameTimes = [];
    const count = (now) => {
      if (!globalThis.frameTimes) return;
      globalThis.frameTimes.push(now);
      requestAnimationFrame(count);
    };
    requestAnimationFrame(count);
  });
  const end = Date.now() + seconds * 1000;
  while (Date.now() < end) {
    await page.mouse.wheel(0, deltaY);
    await page.evaluate(() => new Promise(requestAnimationFrame));
  }
  return page.evaluate(() => {
    const times = globalThis.frameTimes;
    globalThis.frameTimes = null;
    const gaps = times.slice(1).map((time, at) => time - times[at]);
    gaps.sort((a, b) => a - b);
    const fps = (1000 * gaps.length) / gaps.reduce((sum, gap) => sum + gap, 0);
    return { fps, p95: gaps[Math.floor(gaps.length * 0.95)], worst: gaps.at(-1) };
  });
}

export const told = ({ fps, p95, worst }) =>
  `${fps.toFixed(1)} frames/s, 95% under ${p95.toFixed(1)} ms, worst ${worst.toFixed(0)} ms`;
