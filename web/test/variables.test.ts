import assert from "node:assert/strict";
import { test } from "node:test";
import { changes, HIDDEN, looksSecret, readVariables } from "../src/views/variables/changes.ts";
import { format, parse } from "../src/views/variables/dotenv.ts";

test("the usual forms are read", () => {
  const text = [
    "# comment",
    "",
    "PLAIN=one two",
    "export EXPORTED = yes ",
    "EMPTY=",
    "URL=postgres://a:b@c/d?e=f#g",
    "NOTED=value # a note",
    'QUOTED="a \\"b\\"\\nc" # after',
    "SINGLE='a \\n # b'",
    'LONG="first',
    '  second"',
    "LAST=1",
  ].join("\r\n");
  assert.deepEqual(parse(text), {
    variables: {
      PLAIN: "one two",
      EXPORTED: "yes",
      EMPTY: "",
      URL: "postgres://a:b@c/d?e=f#g",
      NOTED: "value",
      QUOTED: 'a "b"\nc',
      SINGLE: "a \\n # b",
      LONG: "first\n  second",
      LAST: "1",
    },
    problems: [],
  });
});

test("each line that cannot be read is told by its number", () => {
  const { variables, problems } = parse(`A=1\nnothing\n =2\nA=3\nD='a'b'\nB="open\nC=4`);
  assert.deepEqual(variables, { A: "1", C: "4" });
  assert.deepEqual(problems, [
    { line: 2, kind: "notAPair" },
    { line: 3, kind: "noName" },
    { line: 4, kind: "twice", name: "A" },
    { line: 5, kind: "behindQuote" },
    { line: 6, kind: "unclosed" },
  ]);
});

test("what is written is read again, byte for byte", () => {
  const odd = {
    SPACES: "  a  ",
    LINES: "a\nb\r\nc",
    HASH: "#a #b",
    QUOTES: `"a' \\n`,
    INNER: `it's "so" \\d+`,
    EMPTY: "",
    KEY: "-----BEGIN KEY-----\nabc=\n-----END KEY-----\n",
    UNICODE: "grüße 🚢",
  };
  assert.deepEqual(parse(format(odd)), { variables: odd, problems: [] });
});

test("names of built-in properties are names like others", () => {
  const { variables } = parse("__proto__=1\nconstructor=2");
  assert.deepEqual(Object.keys(variables), ["__proto__", "constructor"]);
});

test("what changes is what would be stored otherwise", () => {
  const before = { A: "1", B: "2", SECRET: HIDDEN, OLD: HIDDEN };
  const after = { A: "1", B: "3", SECRET: HIDDEN, OLD: "new", C: "4" };
  const kinds = changes(before, after).map(({ name, kind }) => `${name} ${kind}`);
  assert.deepEqual(kinds, ["A same", "B changed", "C added", "OLD changed", "SECRET same"]);
  assert.deepEqual(
    changes({ A: "1" }, {}).map(({ kind }) => kind),
    ["removed"],
  );
});

test("names that look secret are proposed", () => {
  for (const name of ["API_KEY", "DB_PASSWORD", "TOKEN", "DATABASE_URL", "secret_two"])
    assert.ok(looksSecret(name), name);
  for (const name of ["MONKEY", "PORT", "KEYBOARD", "PASSENGERS"]) assert.ok(!looksSecret(name), name);
});

test("the server's text becomes variables", () => {
  assert.deepEqual(readVariables('{"A":"1"}'), { A: "1" });
  assert.deepEqual(readVariables(""), {});
});
