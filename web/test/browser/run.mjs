// Runs topics one after the other on one server, engine and browser. scripts/browser starts it.
import { join } from "node:path";
import { problems } from "./pages.mjs";
import { startPlatform } from "./platform.mjs";
import { TOPICS } from "./topics.mjs";

const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const isLong = process.argv.includes("--long");
const unknown = chosen.filter((name) => !(name in TOPICS));
if (unknown.length > 0) {
  console.error(`There is no topic ${unknown.join(", ")}. There are: ${Object.keys(TOPICS).join(", ")}`);
  process.exit(2);
}

const platform = await startPlatform();
platform.isLong = isLong;
let isStopped = false;
async function stop() {
  if (isStopped) return;
  isStopped = true;
  await platform.stop();
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => stop().then(() => process.exit(130)));

/** What was on the pages of a topic that has failed, for its reader. */
async function keepPictures(name) {
  const pages = platform.browser.contexts().flatMap((context) => context.pages());
  const folder = process.env.SHOTS;
  if (!folder) return;
  const path = (index) => join(folder, `FAILED-${name}-${index}.png`);
  await Promise.all(pages.map((page, index) => page.screenshot({ path: path(index) }).catch(() => {})));
}

/** A topic has failed if it throws, or if a page has had a problem meanwhile. */
async function passes(name) {
  const began = Date.now();
  problems.length = 0;
  const before = platform.browser.contexts();
  try {
    await TOPICS[name](platform);
  } catch (error) {
    problems.push(`${error.stack ?? error}${error.cause ? `\n${error.cause.stack ?? error.cause}` : ""}`);
  }
  if (problems.length > 0) await keepPictures(name);
  const left = platform.browser.contexts().filter((context) => !before.includes(context));
  await Promise.all(left.map((context) => context.close().catch(() => {})));
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  console.log(`${problems.length === 0 ? "ok    " : "FAILED"} ${name} (${seconds} s)`);
  for (const problem of new Set(problems)) console.log(`       ${problem.replaceAll("\n", "\n       ")}`);
  return problems.length === 0;
}

let failed = 0;
try {
  for (const name of chosen.length > 0 ? chosen : Object.keys(TOPICS)) if (!(await passes(name))) failed += 1;
  if (failed > 0 && process.env.WINDLASS_VERBOSE) console.log(platform.server.said());
} finally {
  await stop();
}
process.exit(failed > 0 ? 1 : 0);
