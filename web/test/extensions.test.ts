import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../src/api/client.ts";
import type { Execution, ExecutionStep } from "../src/api/executions.ts";
import type { ExtensionChange, ExtensionVariable, ParentOffer } from "../src/api/extensions.ts";
import type { Installation, InstallationLog } from "../src/api/installations.ts";
import { evidenceOf, whatIsLeft } from "../src/views/executions/left.ts";
import { diff } from "../src/views/extensions/diff.ts";
import { indent, newLine, offsetOf, outdent } from "../src/views/extensions/editing.ts";
import { addressOf, labelOf } from "../src/views/extensions/facts.ts";
import { extensionsAddress, readFilter } from "../src/views/extensions/filter.ts";
import { placeIn, problemsOf } from "../src/views/extensions/problems.ts";
import {
  freeName,
  give,
  otherProblem,
  problemsByName,
  sentValues,
  shownValue,
} from "../src/views/extensions/values.ts";
import { imageChanges, valueChanges } from "../src/views/installations/changes.ts";
import { beforeLast, canRollBack } from "../src/views/installations/history.ts";
import { append, MOST_LINES, nearNewest, prepend } from "../src/views/installations/lines.ts";
import { mergedValues, onlyKeptSecrets } from "../src/views/installations/merged.ts";
import { newDefaultOf, readable } from "../src/views/offers/changes.ts";
import { bodyOf, choicesOf, usualOf } from "../src/views/offers/taking.ts";

const variable = (variable_name: string, variable_type: string, default_value: unknown = null) =>
  ({ variable_name, variable_type, default_value }) as ExtensionVariable;

const invalid = (message: string) => new ApiError(400, "invalid_request", message, null);

test("a filter of the catalog survives its address", () => {
  const filter = { search: "a b", category: "Web Server", type: "run", page: 2 };
  const query = Object.fromEntries(new URL(extensionsAddress(filter), "http://h").searchParams);
  assert.deepEqual(readFilter(query), filter);
  assert.deepEqual(readFilter({ type: "odd", page: "0" }), {});
});

test("an extension has its key in its address, unless that leads elsewhere", () => {
  assert.equal(addressOf({ id: "1", extension_id: "gitea" }, "run"), "/extensions/gitea/run");
  assert.equal(addressOf({ id: "1", extension_id: "new" }), "/extensions/1");
});

test("only what was given is sent: lists with commas, no empty secrets", () => {
  const variables = [variable("a", "string", "x"), variable("list", "array"), variable("key", "secret")];
  assert.deepEqual(sentValues(variables, {}), {});
  assert.deepEqual(sentValues(variables, { a: "", list: "one\n two \n\n", key: "" }), { a: "", list: "one,two" });
  assert.deepEqual(sentValues(variables, { gone: "1" }), {});
});

test("the form shows what was given, else what is stored, else the default", () => {
  assert.equal(shownValue(variable("a", "array", ["x", "y"]), {}), "x\ny");
  assert.equal(shownValue(variable("a", "string", "x"), {}, { a: "stored" }), "stored");
  assert.equal(shownValue(variable("a", "string", "x"), {}, { a: null }), "x");
  assert.equal(shownValue(variable("a", "secret"), {}, { a: "********" }), "");
  assert.equal(shownValue(variable("a", "boolean", false), { a: "true" }), "true");
});

test("what is put back is not a change", () => {
  assert.deepEqual(give({ b: "1" }, "a", "new", "old"), { b: "1", a: "new" });
  assert.deepEqual(give({ a: "new" }, "a", "old", "old"), {});
});

test("what the server says stands at the variables that it names", () => {
  const error = invalid("variables.domain: is required; give a value\nvariables.port: must be a whole number");
  assert.deepEqual(problemsByName(error), { domain: "is required; give a value", port: "must be a whole number" });
  assert.equal(otherProblem(error, ["domain", "port"]), null);
  assert.equal(otherProblem(error, ["domain"]), error);
  const other = invalid("name: must match");
  assert.equal(otherProblem(other, []), other);
});

test("a free name is proposed, within the longest that there can be", () => {
  assert.equal(freeName("redis", []), "redis");
  assert.equal(freeName("redis", ["redis", "redis-2"]), "redis-3");
  assert.equal(freeName("x".repeat(50), ["x".repeat(50)]).length, 50);
});

test("names of variables are read as labels", () => {
  assert.equal(labelOf("close_registration"), "Close registration");
  assert.equal(labelOf("smtpHost"), "Smtp Host");
});

test("each problem of a text has its place", () => {
  const message = 'yaml_content: line 3, column 3: metadata.nme: unknown key "nme"\nline 8, column 12: not valid: x';
  assert.deepEqual(problemsOf(invalid(message)), [
    { line: 3, column: 3, path: "metadata.nme", message: 'unknown key "nme"' },
    { line: 8, column: 12, path: "", message: "not valid: x" },
  ]);
  const [taken] = problemsOf(new ApiError(409, "name_taken", "yaml_content: metadata.id: gitea is taken.", null));
  assert.ok(taken);
  assert.deepEqual(placeIn("metadata:\n  id: gitea\n", taken), {
    ...{ line: 2, column: 3, path: "metadata.id", message: "gitea is taken." },
  });
  assert.deepEqual(problemsOf(invalid("The body is not JSON")), []);
});

const apply = (text: string, start: number, end: number, change: typeof indent) => {
  const made = change({ text, start, end });
  return { text: text.slice(0, made.from) + made.text + text.slice(made.to), start: made.start, end: made.end };
};

test("Tab indents the caret or the selected lines, and back", () => {
  assert.deepEqual(apply("ab", 1, 1, indent), { text: "a  b", start: 3, end: 3 });
  assert.deepEqual(apply("a\nb\n", 0, 3, indent), { text: "  a\n  b\n", start: 2, end: 7 });
  assert.deepEqual(apply("  a\n  b\n", 2, 7, outdent), { text: "a\nb\n", start: 0, end: 3 });
  assert.deepEqual(apply("a\n b", 3, 3, outdent), { text: "a\nb", start: 2, end: 2 });
});

test("a new line is indented as the one before, and deeper after a colon", () => {
  assert.equal(apply("  a: 1", 6, 6, newLine).text, "  a: 1\n  ");
  assert.equal(apply("  a:", 4, 4, newLine).text, "  a:\n    ");
  assert.equal(apply("- a:", 4, 4, newLine).text, "- a:\n    ");
});

test("a column counts characters, not units", () => {
  assert.equal(offsetOf("a\n🍵b", 2, 2), 4);
  assert.equal(offsetOf("a", 9, 1), 1);
});

test("two texts are compared line by line", () => {
  const parts = diff("a\nb\nc\nd", "a\nx\nc\nd").map((part) =>
    part.is === "same" ? part.count : `${part.is} ${part.text}`,
  );
  assert.deepEqual(parts, [1, "gone b", "come x", 2]);
  assert.deepEqual(
    diff("a\nb\nc", "c\na\nb").map(({ is }) => is),
    ["come", "same", "gone"],
  );
  assert.deepEqual(diff("a", "a"), [{ is: "same", count: 1, number: 0 }]);
});

test("a failure says what is left", () => {
  const step = (step_name: string, undo_status: ExecutionStep["undo_status"], output = "") =>
    ({ step_name, undo_status, output }) as ExecutionStep;
  const left = whatIsLeft([step("a", "undone"), step("b", "failed"), step("c", "none")]);
  assert.deepEqual([left.undone, left.notUndone.map(({ step_name }) => step_name)], [1, ["b"]]);
  assert.deepEqual(evidenceOf("a: exit code 3", step("a", "none", "oops\nFailed: exit code 3\n")), {
    ...{ reason: "exit code 3", output: "oops" },
  });
});

test("an update tells which values and images change, and nothing of secrets", () => {
  const before = { a: 1, list: ["x"], key: "********", gone: "z" };
  assert.deepEqual(valueChanges(before, { a: 1, list: ["x", "y"], key: "********", fresh: true, gone: null }), [
    { name: "fresh", before: null, after: "true" },
    { name: "gone", before: "z", after: null },
    { name: "list", before: "x", after: "x, y" },
  ]);
  assert.deepEqual(imageChanges(["a:1", "b:1"], ["a:2", "b:1"]), { gone: ["a:1"], come: ["a:2"] });
});

test("the plan of an update has what is stored, and is not blamed for secrets that stay", () => {
  const variables = [variable("a", "integer"), variable("list", "array"), variable("key", "secret")];
  const stored = { a: 1, list: ["x", "y"], key: "********", gone: "z" };
  assert.deepEqual(mergedValues(variables, stored, { a: "2" }), { a: "2", list: "x,y" });
  const error = invalid("variables.key: cannot be generated");
  assert.equal(onlyKeptSecrets(error, variables, {}), true);
  assert.equal(onlyKeptSecrets(error, variables, { key: "short" }), false);
  assert.equal(onlyKeptSecrets(null, variables, {}), false);
});

test("a rollback is offered where there is something before", () => {
  const execution = (id: string, kind: Execution["kind"], status: Execution["status"] = "completed") =>
    ({ id, kind, status }) as Execution;
  const at = (execution_id: string | null) => ({ execution_id }) as Installation;
  const all = [execution("3", "update", "failed"), execution("2", "update"), execution("1", "install")];
  assert.equal(canRollBack(at("2"), all), true);
  assert.equal(beforeLast(at("2"), all)?.id, "1");
  assert.equal(canRollBack(at("1"), all), false);
  assert.equal(canRollBack(at(null), all), false);
  assert.equal(canRollBack(at("9"), all), true);
  assert.equal(beforeLast(at("4"), [execution("4", "rollback"), ...all]), null);
});

test("the newest lines of a log are found without reading it", async () => {
  for (const newest of [0, 7, 1_000, 1_001, 5_003, 1_234_567]) {
    let asked = 0;
    const near = await nearNewest(async (after) => {
      asked += 1;
      return after < newest ? [{} as InstallationLog] : [];
    });
    assert.ok(newest - near <= 1_000 && near <= newest, `${near} is not near ${newest}`);
    assert.ok(asked < 30, `${asked} requests`);
  }
});

test("no more lines are kept than can be shown", () => {
  const lines = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, at) => ({ sequence: from + at }) as InstallationLog);
  const kept = append({ lines: lines(1, 2_000), hasEarlier: false, isCut: false }, lines(1_999, 2_010));
  assert.deepEqual([kept.lines.length, kept.lines[0]?.sequence, kept.hasEarlier], [MOST_LINES, 11, true]);
  const back = prepend({ lines: lines(1_001, 3_000), hasEarlier: true, isCut: false }, lines(1, 1_000), false);
  assert.deepEqual([back.lines.length, back.lines[0]?.sequence, back.lines.at(-1)?.sequence], [MOST_LINES, 1, 2_000]);
  assert.equal(append(back, lines(3_001, 3_002)), back, "a hole is left");
});

test("sizes are short", () => {});

test("an update is planned with a default where that is wanted, unless a value is given", () => {
  const variables = [variable("port", "integer", 8081), variable("name", "string", "a")];
  const stored = { port: 9090, name: "mine" };
  assert.deepEqual(mergedValues(variables, stored, {}, ["port"]), { name: "mine" });
  assert.deepEqual(mergedValues(variables, stored, { port: "1" }, ["port"]), { name: "mine", port: "1" });
});

test("values of an offer are shown as people write them, also those that are cut off", () => {
  assert.equal(readable('"8080"', false), "8080");
  assert.equal(readable("8080", false), "8080");
  assert.equal(readable('["a"]', false), '["a"]');
  assert.equal(readable('""', false), '""');
  assert.equal(readable(null, false), null);
  assert.equal(readable('"much', true), '"much…');
});

test("a new default can be taken where the author has changed it", () => {
  const change = { path: "variables.port.default", changed_by: "conflict", upstream: "1" } as ExtensionChange;
  assert.equal(newDefaultOf(change), "port");
  assert.equal(newDefaultOf({ ...change, changed_by: "upstream" }), "port");
  assert.equal(newDefaultOf({ ...change, changed_by: "organization" }), null);
  assert.equal(newDefaultOf({ ...change, upstream: null }), null);
  assert.equal(newDefaultOf({ ...change, path: "variables.port" }), null);
});

test("what both have changed is decided by the user, and only what was seen is taken", () => {
  const offer = { conflicts: 0, yaml_content: "a: 1", parent_content_hash: "hash" } as ParentOffer;
  assert.deepEqual([choicesOf(offer), usualOf(offer)], [["merged", "text"], "merged"]);
  const met = { ...offer, conflicts: 2 };
  assert.deepEqual([choicesOf(met), usualOf(met)], [["organization", "upstream", "text"], null]);
  const unwritable = { ...met, yaml_content: "" };
  assert.deepEqual([choicesOf(unwritable), usualOf(unwritable)], [["text"], "text"]);
  assert.deepEqual(bodyOf(offer, "merged", "b: 2"), { parent_content_hash: "hash" });
  assert.deepEqual(bodyOf(met, "upstream", "b: 2"), { parent_content_hash: "hash", conflicts: "upstream" });
  assert.deepEqual(bodyOf(met, "text", "b: 2"), { parent_content_hash: "hash", yaml_content: "b: 2" });
});
