import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes } from "../src/ui/bytes.ts";
import { shortCommit } from "../src/views/applications/facts.ts";
import {
  bodyOf as applicationBody,
  nameOf as applicationName,
  EMPTY_DRAFT as NEW_APPLICATION,
} from "../src/views/applications/newApplication.ts";
import { bodyOf, EMPTY_DRAFT, nameOf, tokenPage } from "../src/views/connections/hosts.ts";
import { isOnlyNear, isOverSsh, pushAddress, readable, shortReference } from "../src/views/pushes/facts.ts";
import { changedBody, draftOf, newBody } from "../src/views/volumes/draft.ts";

test("the page where tokens are made is at the host that was named", () => {
  assert.equal(tokenPage("github", ""), "https://github.com/settings/personal-access-tokens/new");
  assert.equal(tokenPage("gitea", ""), "");
  assert.equal(
    tokenPage("gitea", " https://git.example.org/code/ "),
    "https://git.example.org/code/user/settings/applications",
  );
  assert.equal(tokenPage("forgejo", "git.example.org"), "https://git.example.org/user/settings/applications");
  assert.equal(tokenPage("gitlab", "javascript://x"), "");
});

test("a connection has only what its host needs", () => {
  const draft = { ...EMPTY_DRAFT, token: " t ", workspace: "team", baseUrl: "https://git.example.org" };
  assert.equal(nameOf({ ...draft, host: "gitlab" }), "GitLab");
  assert.deepEqual(bodyOf({ ...draft, host: "gitlab" }), {
    name: "GitLab",
    host: "gitlab",
    token: "t",
    base_url: "https://git.example.org",
  });
  assert.deepEqual(bodyOf({ ...draft, host: "bitbucket", name: "Cloud" }), {
    name: "Cloud",
    host: "bitbucket",
    token: "t",
    workspace: "team",
  });
});

test("what is pushed to has no proposed name", () => {
  assert.equal(applicationName({ ...NEW_APPLICATION, repository: "push" }), "");
  assert.equal(applicationName({ ...NEW_APPLICATION, repository: "https://x/team/shop.git" }), "shop");
});

test("an image is sent without what is about a repository", () => {
  const draft = { ...NEW_APPLICATION, repository: "image", image: " registry.example.org:5000/team/shop:1.4 " };
  assert.equal(applicationName(draft), "shop");
  assert.equal(applicationName({ ...draft, image: "team/shop@sha256:0123" }), "shop");
  const left = { branch: "main", basePath: "/web", token: "t", port: "80", autoUpdate: true };
  assert.deepEqual(applicationBody({ ...draft, ...left }), {
    name: "shop",
    repository: "image",
    image: "registry.example.org:5000/team/shop:1.4",
    auto_update: true,
    port: 80,
  });
  assert.equal(shortCommit(`sha256:${"0123456789".repeat(6)}0123`), "0123456");
});

test("repositories over ssh are known by their address", () => {
  for (const address of ["git@host:team/shop.git", "ssh://git@host/team/shop", "deploy@10.0.0.1:shop"]) {
    assert.ok(isOverSsh(address), address);
  }
  for (const address of ["https://u:p@host/team/shop", "/srv/git/shop", "push", "git://host/shop"]) {
    assert.ok(!isOverSsh(address), address);
  }
});

test("a delivery is shown as people read it", () => {
  assert.equal(readable('{"a":[1]}'), '{\n  "a": [\n    1\n  ]\n}');
  assert.equal(readable("payload=%7B%7D"), "payload=%7B%7D");
  assert.equal(shortReference("refs/heads/fix/cart"), "fix/cart");
  assert.equal(shortReference("refs/tags/v1"), "v1");
});

test("addresses that only this machine or its network reaches", () => {
  for (const near of ["http://127.0.0.1:7780/x", "http://localhost/x", "http://10.1.2.3/", "http://[::1]:80/"]) {
    assert.ok(isOnlyNear(near), near);
  }
  for (const far of ["https://deploy.example.org/x", "http://172.32.0.1/", "nonsense"])
    assert.ok(!isOnlyNear(far), far);
  assert.equal(pushAddress("https://d.example.org/", "o", "a"), "https://d.example.org/o/a.git");
});

test("sizes are short", () => {
  assert.deepEqual([0, 1, 1023, 1024, 1_500_000, 52_428_800, 2 ** 50].map(bytes), [
    "0 B",
    "1 B",
    "1023 B",
    "1.0 KiB",
    "1.4 MiB",
    "50 MiB",
    "1024 TiB",
  ]);
});

test("of a volume only what was changed is sent", () => {
  const begun = { ...draftOf(null), name: "data", path: "/data", before: "sync" };
  assert.deepEqual(changedBody(begun, begun), {});
  assert.deepEqual(changedBody(begun, { ...begun, hours: "6", before: "", shared: true }), {
    snapshot_hours: 6,
    before_snapshot: "",
    shared: true,
  });
  assert.deepEqual(newBody(begun), {
    name: "data",
    path: "/data",
    shared: false,
    snapshot_hours: 0,
    kept_snapshots: 7,
    before_snapshot: "sync",
  });
});
