import { ApiError } from "../../api/client";

/** What is wrong with a text, and where. Lines and columns count from 1. */
export interface Problem {
  line: number;
  column: number;
  path: string;
  message: string;
}

/** Those of a stored draft. */
export function problemsIn(validationErrors: string): Problem[] {
  return validationErrors === "" ? [] : (JSON.parse(validationErrors) as Problem[]);
}

/** Each line of the server's answer is one problem: `line 3, column 5: metadata.name: is empty`. */
export function problemsOf(error: Error | null): Problem[] {
  if (!(error instanceof ApiError)) return [];
  const found: Problem[] = [];
  for (const line of error.message.replace(/^yaml_content: /, "").split("\n")) {
    const [, row, column, rest = ""] = /^line (\d+), column (\d+): (.*)$/.exec(line) ?? [];
    const [, path, message] = /^([A-Za-z_][\w.[\]-]*): (.*)$/.exec(row ? rest : line) ?? [];
    if (row) found.push({ line: Number(row), column: Number(column), path: path ?? "", message: message ?? rest });
    // An id that is taken is told without its place.
    else if (path === "metadata.id") found.push({ line: 0, column: 0, path, message: message ?? "" });
  }
  return found;
}

/** Where the text has the id, for problems that are told without their place. */
export function placeIn(text: string, problem: Problem): Problem {
  if (problem.line > 0) return problem;
  const lines = text.split("\n");
  const at = lines.findIndex((line) => /^\s+id:/.test(line));
  return { ...problem, line: Math.max(1, at + 1), column: Math.max(1, (lines[at]?.indexOf("id:") ?? 0) + 1) };
}
