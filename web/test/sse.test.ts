import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser } from "../src/api/sse.ts";

test("events are read whatever the pieces are", () => {
  const text = 'id: 7\nevent: deployment.failed\ndata: {"a":\ndata: 1}\n\n: still here\n\nid: 9\n\n';
  for (let size = 1; size <= text.length; size += 1) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < text.length; at += size) events.push(...parser.push(text.slice(at, at + size)));
    assert.deepEqual(events, [
      { name: "deployment.failed", data: '{"a":\n1}', id: "7" },
      { name: "message", data: "", id: "9" },
    ]);
  }
});

test("carriage returns end lines too, also when they are torn apart", () => {
  const parser = new EventParser();
  assert.deepEqual(parser.push("data: one\r"), []);
  assert.deepEqual(parser.push("\n\r\n"), [{ name: "message", data: "one", id: "" }]);
});

test("an event keeps the id of the one before, and not its name", () => {
  const parser = new EventParser();
  const events = parser.push("id: 1\nevent: gap\ndata: a\n\ndata: b\n\n");
  assert.deepEqual(events.at(-1), { name: "message", data: "b", id: "1" });
});
