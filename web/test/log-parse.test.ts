import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAnsi, visible } from "../src/logs/ansi.ts";
import { patternOf } from "../src/logs/filter.ts";
import { withHits } from "../src/logs/hits.ts";
import { levelOf } from "../src/logs/level.ts";
import type { Line } from "../src/logs/line.ts";
import { parse, SHOWN_CHARACTERS } from "../src/logs/parse.ts";
import { structured } from "../src/logs/structured.ts";

const E = "\u001b";
const line = (text: string): Line => ({ cursor: 1, at: "", text, stream: "stdout", step: "run", service: "" });

test("colours become looks: 16, 256 and any", () => {
  assert.deepEqual(parseAnsi(`a${E}[31mb${E}[0mc`), [
    { text: "a", look: null },
    { text: "b", look: { fore: 1 } },
    { text: "c", look: null },
  ]);
  assert.deepEqual(parseAnsi(`${E}[1;92;44mx`)[0]?.look, { bold: true, fore: 10, back: 4 });
  assert.deepEqual(parseAnsi(`${E}[38;5;9mx`)[0]?.look, { fore: 9 });
  assert.deepEqual(parseAnsi(`${E}[38;5;208mx`)[0]?.look, { fore: "rgb(255 135 0)" });
  assert.deepEqual(parseAnsi(`${E}[48;5;232mx`)[0]?.look, { back: "rgb(8 8 8)" });
  assert.deepEqual(parseAnsi(`${E}[38;2;1;2;999;4mx`)[0]?.look, { fore: "rgb(1 2 255)", underline: true });
  assert.deepEqual(parseAnsi(`${E}[1;3;31mx${E}[22;39my`)[1]?.look, { italic: true });
  assert.deepEqual(parseAnsi(`${E}[31mx${E}[my`)[1], { text: "y", look: null });
});

test("other sequences go, and what is none of them can be seen", () => {
  const text = (raw: string) =>
    parseAnsi(raw)
      .map((span) => span.text)
      .join("");
  assert.equal(text(`${E}[2K${E}[1Gdone`), "done");
  assert.equal(text(`${E}]0;title\u0007text ${E}]8;;http://x${E}\\link`), "text link");
  assert.equal(text(`${E}(Bplain${E}7`), "plain");
  assert.equal(text(`${E}oops ${E}[12`), "␛oops ␛[12");
  assert.equal(text("a\r"), "a");
  assert.equal(visible("a\0b\bc\u007f\td\u202ee\u0085"), "a␀b␈c␡\td\ufffde\ufffd");
});

test("levels are recognised where a line says them", () => {
  const expected: [string, string | null][] = [
    ["2026-11-16T10:00:00Z ERROR connection refused", "error"],
    ["[warn] disk is nearly full", "warn"],
    ["2026/11/16 10:00:00 [error] 7#7: open() failed", "error"],
    ["error: cannot find module", "error"],
    ["Error: cannot find module", "error"],
    ["TypeError: x is not a function", "error"],
    ["java.lang.NullPointerException: no", "error"],
    ["warning[E0042]: unused", "warn"],
    ["E1116 10:00:00.000000 1 main.go:7] no", "error"],
    ['level=debug msg="x"', "debug"],
    ["INFO:     Started server process", "info"],
    ["npm ERR! code 1", "error"],
    ["thread 'main' panicked at src/main.rs:1", "error"],
    ["the build ended without an error", null],
    ["https://example.org/info", null],
    ["GET /error 200", null],
    ["errors=0", null],
    ["plain", null],
  ];
  for (const [text, level] of expected) assert.equal(levelOf(text), level, text);
});

test("JSON lines have a message, a level and fields", () => {
  assert.deepEqual(structured('{"level":30,"time":1,"msg":"hello","req":{"id":7}}'), {
    level: "info",
    message: "hello",
    fields: [
      ["time", "1"],
      ["req", '{"id":7}'],
    ],
  });
  assert.equal(structured('{"severity":"WARNING","message":"x"}')?.level, "warn");
  assert.deepEqual(structured('{"a":null}'), { level: null, message: "", fields: [["a", "null"]] });
  for (const text of ["{broken", "[1]", "{}", "plain", '{"a":1} tail']) assert.equal(structured(text), null, text);
});

test("so have lines of name=value, but not every line with an equals sign", () => {
  assert.deepEqual(structured('time=1 level=error msg="it \\"broke\\"" code=7'), {
    level: "error",
    message: 'it "broke"',
    fields: [
      ["time", "1"],
      ["code", "7"],
    ],
  });
  assert.equal(structured("set PATH=/bin and go"), null);
  assert.equal(structured("a=1 b=2"), null);
  assert.equal(structured("level=info"), null);
});

test("long lines are cut until all is asked for", () => {
  const long = line("x".repeat(SHOWN_CHARACTERS + 5));
  assert.equal(parse(long, false).shown.length, SHOWN_CHARACTERS);
  assert.equal(parse(long, false).cut, 5);
  assert.equal(parse(long, true).cut, 0);
  assert.equal(parse(long, true), parse(long, true));
  const json = line(JSON.stringify({ msg: "m", data: "y".repeat(5_000) }));
  assert.equal(parse(json, false).shown.length, SHOWN_CHARACTERS);
  assert.equal(parse(json, true).shown.length, "m data=".length + 5_000);
});

test("hits are marked across colours", () => {
  const { spans, shown } = parse(line(`con${E}[31mnect${E}[0mion`), false);
  const pieces = withHits(spans, shown, patternOf({ text: "NECTI", isRegex: false }, "g"));
  assert.deepEqual(
    pieces.map(({ text, isHit }) => [text, isHit]),
    [
      ["con", false],
      ["nect", true],
      ["i", true],
      ["on", false],
    ],
  );
  assert.equal(withHits(spans, shown, null).length, 3);
});

test("what matches nothing long is no hit, and ends", () => {
  const { spans, shown } = parse(line("abc"), false);
  assert.ok(withHits(spans, shown, patternOf({ text: "x*", isRegex: true }, "g")).every(({ isHit }) => !isHit));
});

test("the server's expressions are read as the browser's, or not at all", () => {
  assert.ok(patternOf({ text: "a.b[c]", isRegex: false })?.test("xA.B[C]"));
  assert.ok(!patternOf({ text: "a.b", isRegex: false })?.test("axb"));
  assert.ok(patternOf({ text: "(?i)status=5\\d\\d", isRegex: true })?.test("STATUS=503"));
  assert.ok(!patternOf({ text: "status", isRegex: true })?.test("STATUS"));
  assert.ok(patternOf({ text: "\\p{Lu}", isRegex: true })?.test("Ä"));
  assert.equal(patternOf({ text: "(a+)+$", isRegex: true }), null);
  assert.equal(patternOf({ text: "a(b", isRegex: true }), null);
});
