// From the request for a page to the first frame with something in it, and to the frame with what the page is for.
import { newContext } from "../test/browser/pages.mjs";
import { until } from "../test/browser/until.mjs";
import { startBare } from "./bare.mjs";
import { loggedIn } from "./instance.mjs";

/** In the page, before its own scripts: when the first element that fits is drawn. */
function watchFor(selector) {
  const drawn = () => {
    if (!document.querySelector(selector)) return requestAnimationFrame(drawn);
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      globalThis.contentAt = performance.now();
    };
    // Its turn comes when the frame has been painted.
    channel.port2.postMessage(null);
  };
  requestAnimationFrame(drawn);
}

/** One visit with what the context's cache has. */
async function visit(context, address, selector) {
  const page = await context.newPage();
  await page.addInitScript(watchFor, selector);
  await page.goto(address);
  const found = await until("the page is painted", () =>
    page.evaluate(() => {
      const paint = performance.getEntriesByName("first-contentful-paint")[0];
      const scripts = performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".js"));
      const bytes = scripts.reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0);
      return paint && globalThis.contentAt && { first: paint.startTime, content: globalThis.contentAt, bytes };
    }),
  );
  await page.close();
  return found;
}

/** With an empty cache, and again in the same browser. */
async function coldAndWarm(context, address, selector) {
  const cold = await visit(context, address, selector);
  const warm = await visit(context, address, selector);
  await context.close();
  return { cold, warm };
}

/** Rounds of every page in turn: a bare one, the login, and a list of applications. */
export async function measurePaints(browser, instance, rounds) {
  const list = async () => coldAndWarm(await loggedIn(browser, instance), instance.origin, "tbody tr");
  const { bytes } = (await list()).cold;
  const bare = await startBare(bytes);
  const measured = { bare: [], login: [], applications: [] };
  for (let round = 0; round < rounds; round += 1) {
    measured.bare.push(await coldAndWarm(await newContext(browser), bare.origin, "h1"));
    measured.login.push(await coldAndWarm(await newContext(browser), instance.origin, "form input"));
    measured.applications.push(await list());
  }
  bare.stop();
  return { bytes, rounds: measured };
}
