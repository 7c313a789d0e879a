import assert from "node:assert/strict";
import { test } from "node:test";
import { changed, changedValues, conflicts, type Draft, edit, insist, shown, without } from "../src/ui/draft.ts";

interface Fields {
  name: string;
  port: number;
  paths: string[];
}

const stored: Fields = { name: "shop", port: 80, paths: ["a"] };
const none: Draft<Fields> = {};

test("a refetch changes what was not touched, and nothing else", () => {
  const draft = edit(none, stored, "name", "store");
  const later = { ...stored, name: "other", port: 81 };
  assert.equal(shown(draft, later, "name"), "store");
  assert.equal(shown(draft, later, "port"), 81);
});

test("only what was changed is sent, and typing it back is no change", () => {
  const draft = edit(edit(none, stored, "name", "store"), stored, "paths", ["a", "b"]);
  assert.deepEqual(changedValues(draft), { name: "store", paths: ["a", "b"] });
  assert.deepEqual(changed(edit(edit(draft, stored, "name", "shop"), stored, "paths", ["a"])), []);
});

test("a conflict is a field that both have changed, to different values", () => {
  const draft = edit(edit(none, stored, "name", "store"), stored, "port", 90);
  assert.deepEqual(conflicts(draft, stored), []);
  assert.deepEqual(conflicts(draft, { ...stored, name: "other", paths: [] }), ["name"]);
  assert.deepEqual(conflicts(draft, { ...stored, name: "store" }), []);
});

test("typing on does not hide a conflict", () => {
  const draft = edit(none, stored, "name", "store");
  const later = { ...stored, name: "other" };
  assert.deepEqual(conflicts(edit(draft, later, "name", "stores"), later), ["name"]);
});

test("a conflict is resolved either way", () => {
  const draft = edit(none, stored, "name", "store");
  const later = { ...stored, name: "other" };
  assert.deepEqual(conflicts(insist(draft, later, "name"), later), []);
  assert.equal(shown(insist(draft, later, "name"), later, "name"), "store");
  assert.equal(shown(without(draft, "name"), later, "name"), "other");
});
