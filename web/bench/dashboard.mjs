// How long the dashboard takes to be seen, and to go from one view to another. `scripts/bench dashboard` starts it.
import { mkdirSync, writeFileSync } from "node:fs";
import { launch } from "../test/browser/pages.mjs";
import { measureChanges } from "./changes.mjs";
import { startWith } from "./instance.mjs";
import { measurePaints } from "./paint.mjs";

const ROUNDS = 7;
const FEW = 1;
const MANY = 200;
const RESULTS = "../bench/results";

function median(values) {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)];
}

const ms = (value) => value.toFixed(0);
const row = (...cells) => console.log(`| ${cells.join(" | ")} |`);

function tellPaints({ rounds, bytes }) {
  row("Page", "Cache", "first paint, ms", "worst", "content, ms", "bare page, ms", "ratio");
  row(...Array(7).fill("---"));
  for (const page of ["login", "applications"]) {
    for (const cache of ["cold", "warm"]) {
      const of = (name, what) => rounds[name].map((round) => round[cache][what]);
      const first = of(page, "first");
      const bare = of("bare", "first");
      const ratio = median(first.map((value, round) => value / bare[round]));
      const cells = [median(first), Math.max(...first), median(of(page, "content")), median(bare)].map(ms);
      row(page, cache, ...cells, ratio.toFixed(1));
    }
  }
  console.log(`\nThe script of the bare page has ${bytes} bytes.\n`);
}

function tellChanges([few, many]) {
  row("View", "Visit", `${MANY} applications, ms`, "worst", `${FEW} application, ms`, "ratio");
  row(...Array(6).fill("---"));
  for (const view of Object.keys(many[0])) {
    for (const visit of ["first", "later"]) {
      const [one, all] = [few, many].map((rounds) => rounds.map((round) => round[view][visit]));
      const ratio = median(all.map((value, round) => value / one[round]));
      row(view, visit, ms(median(all)), ms(Math.max(...all)), ms(median(one)), ratio.toFixed(1));
    }
  }
}

const instances = [];
const browser = await launch();
try {
  for (const count of [FEW, MANY]) instances.push(await startWith(count));
  const paints = await measurePaints(browser, instances.at(-1), ROUNDS);
  tellPaints(paints);
  const changes = await measureChanges(browser, instances, ROUNDS);
  tellChanges(changes);
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(
    `${RESULTS}/dashboard.json`,
    JSON.stringify({ paints, changes: { few: changes[0], many: changes[1] } }),
  );
} finally {
  await browser.close();
  for (const instance of instances) await instance.stop();
}
