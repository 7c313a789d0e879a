import assert from "node:assert/strict";
import { test } from "node:test";
import { requestsFor } from "../src/views/settings/fields.ts";

test("only what was changed is sent, as the API wants it", () => {
  assert.deepEqual(requestsFor("1", { port: "8080", pause: true, watch_paths: "a\n\n b \na", branch: "" }), {
    update: { id: "1", port: 8080, pause: true, watch_paths: ["a", "b"], branch: "" },
    labels: null,
  });
});

test("labels have a request of their own", () => {
  assert.deepEqual(requestsFor("1", { labels: "web, api,,web" }), { update: null, labels: ["web", "api"] });
  assert.deepEqual(requestsFor("1", { labels: "" }), { update: null, labels: [] });
});
