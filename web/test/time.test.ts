import assert from "node:assert/strict";
import { test } from "node:test";
import { best, fit } from "../src/shell/match.ts";
import { duration, relative } from "../src/ui/time.ts";

test("durations are as short as they can be read", () => {
  const shown = [12, 999, 1_500, 9_940, 42_000, 59_600, 185_000, 180_000, 7_800_000].map(duration);
  assert.deepEqual(shown, ["12 ms", "999 ms", "1.5 s", "9.9 s", "42 s", "1 min", "3 min 5 s", "3 min", "2 h 10 min"]);
});

test("times are told in the coarsest unit", () => {
  const now = Date.parse("2026-11-16T12:00:00Z");
  const ago = (seconds: number) => relative(now - seconds * 1000, now, "en");
  assert.deepEqual([0, 59, 61, 7_300, 86_400, 864_000].map(ago), [
    "now",
    "59 sec. ago",
    "1 min. ago",
    "2 hr. ago",
    "yesterday",
    "last wk.",
  ]);
});

test("words fit in any order, beginnings first", () => {
  assert.equal(fit("Account: API keys", "keys acc") === null, false);
  assert.equal(fit("Account", "x"), null);
  assert.deepEqual(
    best(["workshop", "shop", "the shop"], "shop", (text) => text, 2),
    ["shop", "the shop"],
  );
});
