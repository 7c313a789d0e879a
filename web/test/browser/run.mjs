// Runs topics: those that are named, or else all of them, in a process for each list of topics.mjs. scripts/browser starts it.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { problems } from "./pages.mjs";
import { takePictures } from "./pictures.mjs";
import { startPlatform } from "./platform.mjs";
import { LANES, TOPICS } from "./topics.mjs";

const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const options = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const unknown = chosen.filter((name) => !(name in TOPICS));
if (unknown.length > 0) {
  console.error(`There is no topic ${unknown.join(", ")}. There are: ${Object.keys(TOPICS).join(", ")}`);
  process.exit(2);
}

/** What was on the pages of a topic that has failed, for its reader. */
async function keepPictures(platform, name) {
  const folder = process.env.SHOTS;
  if (!folder) return;
  const pages = platform.browser.contexts().flatMap((context) => context.pages());
  const path = (index) => join(folder, `FAILED-${name}-${index}.png`);
  await Promise.all(pages.map((page, index) => page.screenshot({ path: path(index) }).catch(() => {})));
}

/** A topic has failed if it throws, or if a page has had a problem meanwhile. */
async function passes(platform, name, run) {
  const began = Date.now();
  problems.length = 0;
  const before = platform.browser.contexts();
  try {
    await run(platform);
  } catch (error) {
    problems.push(`${error.stack ?? error}${error.cause ? `\n${error.cause.stack ?? error.cause}` : ""}`);
  }
  if (problems.length > 0) await keepPictures(platform, name);
  const left = platform.browser.contexts().filter((context) => !before.includes(context));
  await Promise.all(left.map((context) => context.close().catch(() => {})));
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  const found = [...new Set(problems)].map((problem) => `\n       ${problem.replaceAll("\n", "\n       ")}`);
  console.log(`${found.length === 0 ? "ok    " : "FAILED"} ${name} (${seconds} s)${found.join("")}`);
  return found.length === 0;
}

async function runHere(topics) {
  const platform = await startPlatform({ isLong: options.includes("--long") });
  let stopping = null;
  const stop = () => {
    stopping ??= platform.stop();
    return stopping;
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => stop().then(() => process.exit(130)));
  let failed = 0;
  try {
    for (const [name, run] of topics) if (!(await passes(platform, name, run))) failed += 1;
  } finally {
    await stop();
  }
  return failed === 0;
}

/** In a process of its own, so that what goes wrong in its pages is told apart. */
function runLane(topics, index) {
  const names = Object.keys(topics);
  const child = spawn(process.execPath, [process.argv[1], ...names, ...options], {
    stdio: "inherit",
    env: { ...process.env, LANE: String(index) },
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => child.once("exit", (code) => resolve(code === 0)));
}

async function run() {
  if (options.includes("--pictures")) return runHere([["pictures", takePictures]]);
  if (chosen.length > 0) return runHere(Object.entries(TOPICS).filter(([name]) => chosen.includes(name)));
  return (await Promise.all(LANES.map(runLane))).every(Boolean);
}

process.exit((await run()) ? 0 : 1);
