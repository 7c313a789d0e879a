import assert from "node:assert/strict";
import { test } from "node:test";
import { Layout } from "../src/logs/layout.ts";
import type { Line } from "../src/logs/line.ts";

const lines = (from: number, to: number): Line[] =>
  Array.from({ length: to - from + 1 }, (_, at) => ({
    cursor: from + at,
    at: "",
    text: "",
    stream: "stdout",
    step: "run",
    service: "",
  }));
const twenty = () => 20;
const place = (layout: Layout, cursor: number) =>
  layout.top(layout.lines.findIndex((line) => line.cursor === cursor)) - layout.origin;

test("a line keeps its place when lines are dropped before it and added after it", () => {
  const layout = new Layout();
  layout.update(lines(1, 100), twenty, 0);
  const top = layout.top(59);
  layout.update(lines(51, 150), twenty, 60);
  assert.equal(layout.top(9), top);
  assert.equal(layout.origin, 1000);
  assert.equal(layout.height, 2000);
  assert.equal(place(layout, 51), 0);
});

test("and when earlier lines are added", () => {
  const layout = new Layout();
  layout.update(lines(100, 200), twenty, 0);
  layout.update(lines(50, 180), twenty, 120);
  assert.equal(layout.top(70), 400);
  assert.equal(layout.origin, -1000);
  assert.equal(place(layout, 120), 1400);
});

test("a line that turns out higher moves those after the anchor down and those before it up", () => {
  const layout = new Layout();
  const all = lines(1, 10);
  layout.update(all, twenty, 0);
  const top = layout.top(4);
  layout.update(all, (line) => (line.cursor === 2 ? 60 : 20), 5);
  assert.equal(layout.top(4), top);
  assert.equal(layout.origin, -40);
  assert.equal(layout.height, 240);
});

test("the line at a place is found, also beyond the ends", () => {
  const layout = new Layout();
  layout.update(lines(1, 10), twenty, 0);
  assert.deepEqual(
    [-5, 0, 19, 20, 199, 500].map((at) => layout.indexAt(at)),
    [0, 0, 0, 1, 9, 9],
  );
  assert.equal(new Layout().indexAt(10), 0);
});

test("after very many lines the places begin anew", () => {
  const layout = new Layout();
  for (let from = 1; from < 1_000_000; from += 1000) layout.update(lines(from, from + 1999), twenty, from);
  assert.ok(layout.origin <= 4_000_000);
  assert.equal(layout.height, 40_000);
});
