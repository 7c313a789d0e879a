import { useText } from "../../text";
import type { Problem } from "./problems";

interface Props {
  id: string;
  problems: readonly Problem[];
  /** They are about the text as it was before the last changes. */
  isStale: boolean;
  onGoTo: (line: number, column: number) => void;
}

/** Everything that is wrong, each with the way to its place. */
export function TextProblems({ id, problems, isStale, onGoTo }: Props) {
  const t = useText().extensionText;
  if (problems.length === 0) return null;
  return (
    <section class="notice bad" id={id} role="alert">
      <h2>{t.problems(problems.length)}</h2>
      {isStale && <p class="muted">{t.stale}</p>}
      <ul class="text-problems">
        {problems.map((problem) => (
          <li key={`${problem.line} ${problem.column} ${problem.path} ${problem.message}`}>
            <button type="button" onClick={() => onGoTo(problem.line, problem.column)}>
              <span class="place">{t.line(problem.line, problem.column)}</span>
              {problem.path && <code class="break">{problem.path}</code>}
              <span class="break">{problem.message}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
