// A build fails: the page says what class of failure it is, what was seen and what to do, and leads to the line of the log.
import assert from "node:assert/strict";
import { look } from "../look.mjs";
import { says } from "../repository.mjs";
import { until } from "../until.mjs";

const COMPLAINT = "main.c:12: missing semicolon";
/** So many that the log is longer than its box, with the complaint in the middle. */
const NOISE = "RUN for n in $(seq 200); do echo compiling $n; done";
const BROKEN = says("never seen", NOISE, `RUN echo ${COMPLAINT} >&2 && exit 3`);

export default async function failure(platform) {
  const application = await platform.deploy("broken", { repository: platform.repository("broken", BROKEN) });
  const page = await platform.page("owner");
  await page.goto(`${platform.origin}/applications/${application.id}`);
  await page.getByRole("row").filter({ hasText: "failed" }).getByRole("link", { name: "Deploy" }).click();

  const notice = page.getByRole("region", { name: "The build failed" });
  await notice.getByText("build_failed").waitFor();
  await notice.getByText("What to do: Read the step, its command and its last lines").waitFor();
  await notice.getByText("exit code 3").waitFor();
  await notice.getByText(COMPLAINT).waitFor();
  await look(page, "deployment-failed");
  await followToTheLine(page, notice);
  await platform.api("DELETE", "/deploy/application", { id: application.id, name: "broken" });
}

async function followToTheLine(page, notice) {
  const log = page.getByRole("log");
  await log.evaluate((box) => box.scrollTo(0, 0));
  await page.evaluate(() => scrollTo(0, 0));
  await notice.getByRole("link", { name: "To the line of the log" }).click();
  const marked = page.locator(".log-line.marked");
  await until("the line is marked, and seen", () =>
    marked.evaluate((row) => {
      const { top, bottom } = row.getBoundingClientRect();
      const box = row.closest(".log-lines").getBoundingClientRect();
      return top >= Math.max(0, box.top - 1) && bottom <= Math.min(innerHeight, box.bottom + 1);
    }),
  );
  assert.match(await marked.textContent(), /Failed: .*exit code 3/);
  // What the step itself has printed stands right above it.
  assert.ok((await page.locator(".log-line.stderr", { hasText: COMPLAINT }).count()) > 0);
}
