import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Notice, Preference } from "../src/api/notifications.ts";
import { bodyFor, choiceOf, isComplete, withEvents } from "../src/views/notifications/choice.ts";
import { EVENTS, eventsIn, GROUPS, isUsual, neededFor, USUAL } from "../src/views/notifications/events.ts";
import { canBeSentAgain, isFiltered, noticesAddress, readFilter } from "../src/views/notifications/notices.ts";

const ID = "01a1f359-c51e-70dd-a094-ad8bc88b982f";

test("every event of the API stands in one group", () => {
  const { components } = JSON.parse(readFileSync("../openapi.json", "utf8"));
  assert.deepEqual([...EVENTS].sort(), [...components.schemas.EventName.enum].sort());
  assert.deepEqual(GROUPS.flatMap((group) => eventsIn(group)).sort(), [...EVENTS].sort());
  assert.deepEqual(eventsIn("deployments", ["deployment.failed", "disk.low"]), ["deployment.failed"]);
});

test("of the machine and of keys only some may hear", () => {
  assert.equal(neededFor("disk.low"), "extension:host");
  assert.equal(neededFor("api_key.created"), "api_key:read");
  assert.equal(neededFor("member.added"), null);
});

test("what is usual is known in any order, and nothing else is", () => {
  assert.ok(isUsual([...USUAL].reverse()));
  assert.ok(!isUsual(USUAL.slice(1)));
  assert.ok(!isUsual([...USUAL.slice(1), "member.added"]));
});

test("a choice of some applications names one at least, since none means all", () => {
  const stored = { channel: "slack", events: ["disk.low"], recoveries: false, application_ids: [] } as unknown;
  const choice = choiceOf(stored as Preference);
  assert.equal(choice.applications, null);
  assert.ok(isComplete(choice));
  assert.ok(!isComplete({ ...choice, applications: [] }));
  const body = { channel: "slack", events: ["disk.low"], recoveries: false, application_ids: [ID] };
  assert.deepEqual(bodyFor("slack", { ...choice, applications: [ID] }), body);
});

test("what is not offered stays chosen", () => {
  const offered = ["deployment.failed", "deployment.succeeded"] as const;
  assert.deepEqual(withEvents(["disk.low", "deployment.failed"], offered, ["deployment.succeeded"]), [
    "disk.low",
    "deployment.succeeded",
  ]);
  assert.deepEqual(withEvents(["disk.low"], offered, []), ["disk.low"]);
});

test("a filter of the delivery log survives its address, and what the API would refuse is left out", () => {
  const filter = { channel: "ntfy", state: "failed", application_id: ID, before: ID } as const;
  const query = Object.fromEntries(new URL(noticesAddress(filter), "http://h").searchParams);
  assert.deepEqual(readFilter(query), filter);
  assert.deepEqual(readFilter({ channel: "pigeon", state: "lost", application_id: "1", before: "x" }), {});
  assert.equal(noticesAddress({}), "/organization/notifications/log");
  assert.ok(!isFiltered({ before: ID }));
});

test("what has arrived, by itself or in another message, is not sent again", () => {
  const states = ["waiting", "sent", "failed", "folded", "dropped"] as const;
  const again = states.filter((state) => canBeSentAgain({ state } as Notice));
  assert.deepEqual(again, ["waiting", "failed", "dropped"]);
});
