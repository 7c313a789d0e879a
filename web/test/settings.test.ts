import assert from "node:assert/strict";
import { test } from "node:test";
import { requestsFor, SECTIONS, sectionsOf } from "../src/views/settings/fields.ts";

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

test("an image is asked for nothing that a repository has, and a repository for no image", () => {
  const names = (repository: string) => sectionsOf(repository).flatMap(([, kinds]) => kinds.map(({ name }) => name));
  const [ofImage, ofRepository] = [names("image"), names("https://example.org/shop.git")];
  assert.ok(ofImage.includes("image") && ofImage.includes("auto_update") && ofImage.includes("port"));
  assert.ok(!ofImage.includes("branch") && !ofImage.includes("start_command"));
  assert.ok(!ofRepository.includes("image") && !ofRepository.includes("auto_update"));
  const all = SECTIONS.flatMap(([, kinds]) => kinds.map(({ name }) => name));
  assert.ok(all.every((name) => ofImage.includes(name) || ofRepository.includes(name)));
  assert.ok(!sectionsOf("image").some(([section]) => section === "building"));
});
