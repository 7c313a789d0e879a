import assert from "node:assert/strict";
import { test } from "node:test";
import { ceiling, lastOf, pathOf } from "../src/ui/chart.ts";

test("a scale ends at a number that is read easily and is no less", () => {
  assert.deepEqual(
    [0, 0.3, 1, 7, 201, 1000].map((most) => ceiling([[null, most]], false)),
    [1, 0.5, 1, 10, 500, 1000],
  );
  assert.deepEqual(
    [1, 1024, 1025, 3 * 2 ** 20].map((most) => ceiling([[most], [null]], true)),
    [1024, 1024, 2048, 4 * 2 ** 20],
  );
});

test("a gap ends a line, and what is alone is a dash", () => {
  assert.equal(pathOf([0, 10, null, 5, null], 10, 50, 100), "M5 100L15 0M30 50h10");
  assert.equal(pathOf([null, null], 10, 50, 100), "");
  assert.equal(pathOf([], 10, 50, 100), "");
});

test("the last value of any line", () => {
  assert.equal(
    lastOf([
      [1, 2, null],
      [null, null, null],
    ]),
    1,
  );
  assert.equal(lastOf([[null], []]), null);
});
