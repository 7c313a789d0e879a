import assert from "node:assert/strict";
import { test } from "node:test";
import type { Access } from "../src/api/access.ts";
import {
  entriesOf,
  entryOf,
  freeStatuses,
  isHeaderValue,
  isUserName,
  STATUSES,
  withoutName,
} from "../src/views/access/entries.ts";
import { readSize, writeSize } from "../src/views/access/size.ts";
import { bodyOf, networksIn, storedValues, type Values } from "../src/views/access/values.ts";

const ACCESS: Access = {
  application_id: "1",
  allow: ["10.0.0.0/8", "2001:db8::/32"],
  deny: [],
  users: { ben: "********", anna: "********" },
  realm: "Restricted",
  requests_per_minute: 600,
  request_burst: 0,
  body_bytes: 10 * 1024 * 1024,
  answer_seconds: 60,
  maintenance: false,
  security_headers: true,
  headers: {},
  compress: false,
  pages: { "503": "<h1>Soon</h1>" },
};

test("a size is read with its unit", () => {
  const read = {
    "0": 0,
    "500": 500,
    "500 B": 500,
    "10 MiB": 10_485_760,
    "10mib": 10_485_760,
    " 10 M ": 10_485_760,
    "1,5 KiB": 1536,
    "1.5 KiB": 1536,
    "1 kB": 1000,
    "2 MB": 2_000_000,
    "1 TiB": 1_099_511_627_776,
  };
  for (const [text, bytes] of Object.entries(read)) assert.equal(readSize(text), bytes, text);
});

test("what is no size is not taken for one", () => {
  for (const text of ["", "-1", "MiB", "10 iB", "10 XiB", "1 2", "1e3", "much"])
    assert.equal(readSize(text), null, text);
});

test("a size is written so that exactly it is read again", () => {
  assert.equal(writeSize(0), "0");
  assert.equal(writeSize(10_485_760), "10 MiB");
  assert.equal(writeSize(1536 * 1024), "1536 KiB");
  assert.equal(writeSize(1_000_000), "1000000");
  for (let bytes = 1; bytes < 2 ** 40; bytes = bytes * 3 + (bytes % 7)) {
    assert.equal(readSize(writeSize(bytes)), bytes);
    assert.equal(readSize(writeSize(bytes * 1024)), bytes * 1024);
  }
});

test("networks come one per line, or as they were pasted, each once", () => {
  assert.deepEqual(networksIn(" 10.0.0.0/8\n\n192.0.2.7, ::1;10.0.0.0/8\r\n"), ["10.0.0.0/8", "192.0.2.7", "::1"]);
  assert.deepEqual(networksIn(" \n"), []);
});

test("of the access settings only what was changed is sent, as the API wants it", () => {
  assert.deepEqual(bodyOf({}), {});
  assert.deepEqual(bodyOf({ deny: "192.0.2.7\n", realm: " Staging ", compress: true }), {
    deny: ["192.0.2.7"],
    realm: "Staging",
    compress: true,
  });
  assert.deepEqual(bodyOf({ allow: "", realm: "", request_burst: "5", body_bytes: "1 KiB" }), {
    allow: [],
    realm: "",
    request_burst: 5,
    body_bytes: 1024,
  });
});

test("what is stored is what the forms would send", () => {
  const values: Values = storedValues(ACCESS);
  for (const [name, value] of Object.entries(bodyOf(values))) assert.deepEqual(value, ACCESS[name as keyof Access]);
});

test("entries are in the order of their names", () => {
  assert.deepEqual(
    entriesOf(ACCESS, "users").map(([name]) => name),
    ["anna", "ben"],
  );
  assert.equal(entryOf(ACCESS, "users", "anna"), "********");
  assert.equal(entryOf(ACCESS, "users", "constructor"), undefined);
  assert.deepEqual(
    freeStatuses(ACCESS),
    STATUSES.filter((status) => status !== "503"),
  );
});

test("a refusal stands at the name or at the value", () => {
  for (const name of ["anna", "Anna B.", "a"]) assert.ok(isUserName(name), name);
  for (const name of ["", "an:na", "jörg", "x".repeat(65), "a\tb"]) assert.ok(!isUserName(name), name);
  for (const value of ["", "DENY", "a b"]) assert.ok(isHeaderValue(value), value);
  for (const value of [" a", "a\nb", "ä", "x".repeat(1025)]) assert.ok(!isHeaderValue(value), value);
  assert.equal(withoutName("anna: must have at least 8 characters", "anna"), "must have at least 8 characters");
  assert.equal(withoutName("must have at most 50 entries", "anna"), "must have at most 50 entries");
  assert.equal(withoutName(null, "anna"), null);
});
