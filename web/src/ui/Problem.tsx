import { ApiError, NetworkError } from "../api/client";
import { usePhase } from "../session";
import { type Text, useText } from "../text";
import { Button } from "./Button";
import "./states.css";

/** The server's own words, and what to do where its words do not say it. */
export function describe(error: Error, t: Text): { message: string; advice: string } {
  if (error instanceof NetworkError) return { message: t.problem.offline, advice: "" };
  if (error instanceof ApiError && error.code === "unauthenticated")
    return { message: t.login.lapsedTitle, advice: "" };
  if (!(error instanceof ApiError)) return { message: error.message, advice: "" };
  if (error.code === "rate_limited" && error.retryAfterSeconds) {
    return { message: error.message, advice: t.problem.retryIn(error.retryAfterSeconds) };
  }
  if (error.code === "forbidden") return { message: error.message, advice: t.problem.forbidden };
  if (error.code === "not_found") return { message: error.message, advice: t.problem.gone };
  return { message: error.message, advice: "" };
}

/** In a form: a sentence. */
export function ProblemText({ error }: { error: Error | null }) {
  const t = useText();
  const phase = usePhase();
  if (!error) return null;
  const { message, advice } = describe(error, t);
  const isOver = error instanceof ApiError && error.code === "unauthenticated" && phase.is === "in" && !phase.lapsed;
  if (isOver) return null;
  return (
    <p class="problem-text" role="alert">
      {message} {advice}
    </p>
  );
}

/** In place of what could not be shown. */
export function Problem({ error, onAgain }: { error: Error; onAgain?: () => void }) {
  const t = useText();
  const { message, advice } = describe(error, t);
  return (
    <div class="notice bad" role="alert">
      <h2>{t.problem.title}</h2>
      <p class="break">{message}</p>
      {advice && <p>{advice}</p>}
      {onAgain && (
        <p>
          <Button onClick={onAgain}>{t.common.again}</Button>
        </p>
      )}
    </div>
  );
}

/** What the server says about each field of a form, and what it says about none of them. */
export function splitProblem(
  error: Error | null,
  fields: readonly string[],
): [problem: (field: string) => string | null, rest: Error | null] {
  const about = error instanceof ApiError ? error.field : null;
  if (!error || !about || !fields.includes(about)) return [() => null, error];
  return [(field) => (field === about ? fieldMessage(error) : null), null];
}

/** The message without the field's name, which stands above it, and without its place in a body that users do not see. */
export function fieldMessage(error: Error): string {
  return error.message.replace(/^[a-z][a-z0-9_]*[^:\s]*: /, "").replace(/ \(line \d+, column \d+\)$/, "");
}
