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
export function ProblemText({ error }: { error: Error }) {
  const { message, advice } = describe(error, useText());
  const phase = usePhase();
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

/** What the server says about one field, and what it says about the whole. */
export function split(error: Error | null, fields: readonly string[]): [field: string | null, rest: Error | null] {
  const field = error instanceof ApiError ? error.field : null;
  return field && fields.includes(field) ? [field, null] : [null, error];
}

/** The message without the field's name, which stands above it, and without its place in a body that users do not see. */
export function fieldMessage(error: Error): string {
  return error.message.replace(/^[a-z][a-z0-9_]*[^:\s]*: /, "").replace(/ \(line \d+, column \d+\)$/, "");
}
