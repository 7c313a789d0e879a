import { useText } from "../../text";
import type { LineProblem } from "./dotenv";

export function LineProblems({ problems }: { problems: readonly LineProblem[] }) {
  const t = useText();
  if (problems.length === 0) return null;
  return (
    <ul class="problem-text" role="alert">
      {problems.map((problem) => (
        <li key={problem.line}>
          {t.variables.line(problem.line)}{" "}
          {problem.kind === "twice" ? t.variables.twice(problem.name) : t.variables[problem.kind]}
        </li>
      ))}
    </ul>
  );
}
