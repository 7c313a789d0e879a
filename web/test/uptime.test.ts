import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { StatusPageApplication } from "../src/api/statusPage.ts";
import type { Uptime, UptimeCheck } from "../src/api/uptime.ts";
import { de } from "../src/text/de.ts";
import { en, type Text } from "../src/text/en.ts";
import { later } from "../src/text/enLater.ts";
import { bodyOf, MOST, moved, withName, without } from "../src/views/statusPage/fields.ts";
import { changedBody, draftOf, LIMITS } from "../src/views/uptime/draft.ts";
import { heightOf, isSetUp, meaning, percent, summarize, USUAL } from "../src/views/uptime/facts.ts";

const english: Text = { ...en, ...later };

const NEVER: Uptime = {
  application_id: "01a1f359-c51e-70dd-a094-ad8bc88b982f",
  enabled: false,
  ...USUAL,
  state: "off",
  reason: "",
  since: null,
  last_check_at: null,
  next_check_at: null,
  availability: { last_24_hours: null, last_7_days: null, last_30_days: null },
};
const ON: Uptime = { ...NEVER, enabled: true, state: "up", last_check_at: "2026-01-01T00:00:00.000000Z" };

test("limits and what is usual are those of the API", () => {
  const { schemas } = JSON.parse(readFileSync("../openapi.json", "utf8")).components;
  const { properties } = schemas.UpdateUptime;
  for (const [name, { min, max }] of Object.entries(LIMITS)) {
    assert.deepEqual([properties[name].minimum, properties[name].maximum], [min, max], name);
  }
  for (const [name, value] of Object.entries(USUAL)) {
    assert.match(properties[name].description, new RegExp(`Default: \`?${value}[\`,.]`), name);
  }
  assert.equal(schemas.UpdateStatusPage.properties.applications.maxItems, MOST);
});

test("only what differs is sent, as the API has it", () => {
  const begun = draftOf(NEVER);
  assert.deepEqual(changedBody(begun, begun), {});
  assert.deepEqual(changedBody(begun, { ...begun, path: " /health ", interval: "30", expected: "204" }), {
    path: "/health",
    interval_seconds: 30,
    expected_status: 204,
  });
  assert.deepEqual(changedBody(begun, { ...begun, timeout: "1", failures: "3" }), { timeout_seconds: 1, failures: 3 });
});

test("a check that was never set up is told from one that was turned off", () => {
  assert.ok(!isSetUp(NEVER));
  assert.ok(isSetUp(ON));
  assert.ok(isSetUp({ ...NEVER, availability: { ...NEVER.availability, last_30_days: 0 } }));
  assert.ok(isSetUp({ ...NEVER, path: "/health" }));
});

test("a state says what it means, and one that wavers says so", () => {
  assert.equal(meaning(english, ON), "It answers as it should.");
  const wavers = meaning(english, { ...ON, reason: "it answered with status 500", failures: 3 });
  assert.equal(wavers, "The last check has failed. It is down when 3 fail in a row.");
  const first = { ...ON, state: "no_recent_check", last_check_at: null } as const;
  assert.equal(meaning(english, first), "It is being asked for the first time.");
  assert.match(meaning(de, { ...first, last_check_at: ON.last_check_at }), /zu alt/);
});

test("what has failed once is never shown as whole", () => {
  assert.equal(percent(english, 99.999), "99.999 %");
  assert.equal(percent(de, 99.9), "99,9 %");
  assert.equal(percent(english, 100), "100 %");
  assert.equal(percent(english, 0), "0 %");
  assert.equal(percent(english, null), "not known");
});

test("checks are counted, and only answers have a time", () => {
  const check = (result: UptimeCheck["result"], answer_ms: number | null) => ({ result, answer_ms }) as UptimeCheck;
  const checks = [check("up", 10), check("failed", 31), check("failed", null), check("paused", null)];
  const summary = { good: 1, failed: 2, others: 1, averageMs: 21, slowestMs: 31 };
  assert.deepEqual(summarize(checks), summary);
  assert.deepEqual(summarize([]), { good: 0, failed: 0, others: 0, averageMs: null, slowestMs: 0 });
  assert.equal(heightOf(check("failed", null), 31), 1);
  assert.equal(heightOf(check("up", 31), 31), 1);
  assert.equal(heightOf(check("up", 0), 31), 0.15, "a quick answer is seen");
  assert.equal(heightOf(check("up", 0), 0), 1);
  assert.ok(heightOf(check("blocked", 31), 31) < heightOf(check("up", 0), 31));
  assert.equal(later.uptime.summary(1, 2, 0), "1 good, 2 failed");
});

test("applications of a status page are moved, called and taken out, and the others stay", () => {
  const all: StatusPageApplication[] = ["a", "b", "c"].map((id) => ({ application_id: id, name: id.toUpperCase() }));
  const names = (some: readonly StatusPageApplication[]) => some.map(({ name }) => name).join("");
  assert.equal(names(moved(all, "b", -1)), "BAC");
  assert.equal(names(moved(all, "b", 1)), "ACB");
  assert.equal(names(moved(all, "a", -1)), "ABC");
  assert.equal(names(moved(all, "c", 1)), "ABC");
  assert.equal(names(without(all, "b")), "AC");
  assert.equal(names(withName(all, "b", "X")), "AXC");
});

test("what is not changed of a status page is not sent", () => {
  assert.deepEqual(bodyOf({ enabled: false }), { enabled: false });
  assert.deepEqual(bodyOf({ domain: " " }), { domain: "" });
  const applications = [{ application_id: "a", name: " Shop " }];
  assert.deepEqual(bodyOf({ applications }), { applications: [{ application_id: "a", name: "Shop" }] });
});
