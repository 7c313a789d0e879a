import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogLine } from "../src/api/deployments.ts";
import { stepsOf } from "../src/views/deployments/steps.ts";

const at = (second: number) => `2026-11-16T12:00:${String(second).padStart(2, "0")}.000000Z`;
const line = (step: LogLine["step"], second: number) => ({ step, created_at: at(second) }) as LogLine;

test("a step ends where the next one begins", () => {
  const lines = [line("queue", 0), line("fetch", 1), line("fetch", 2), line("build", 4), line("run", 9)];
  assert.deepEqual(stepsOf(lines, null), [
    { name: "queue", startedAt: at(0), endedAt: at(1) },
    { name: "fetch", startedAt: at(1), endedAt: at(4) },
    { name: "build", startedAt: at(4), endedAt: null },
  ]);
});

test("the last step ends with the deployment, and never before it has begun", () => {
  assert.equal(stepsOf([line("build", 4)], at(7))[0]?.endedAt, at(7));
  assert.equal(stepsOf([line("drain", 8)], at(7))[0]?.endedAt, at(8));
});

test("without lines there are no steps", () => assert.deepEqual(stepsOf([], at(1)), []));
