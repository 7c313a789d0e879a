import { useState } from "preact/hooks";
import { requestPasswordReset } from "../../api/login";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { TextField } from "../../ui/Field";
import { ProblemText, splitProblem } from "../../ui/Problem";
import { Frame } from "./Frame";

/** Asks for a mail with a link. Whether there is such an account is not told. */
export function ForgotPassword({ onBack }: { onBack: () => void }) {
  const t = useText();
  const [email, setEmail] = useState("");
  const [isDone, setDone] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [problem, rest] = splitProblem(error, ["email"]);

  const onSubmit = async () => {
    setBusy(true);
    setError(null);
    try {
      await requestPasswordReset(email);
      setDone(true);
    } catch (thrown) {
      setError(thrown as Error);
    }
    setBusy(false);
  };
  const back = (
    <button type="button" class="link" onClick={onBack}>
      {t.forgot.back}
    </button>
  );
  if (isDone) {
    return (
      <Frame title={t.forgot.done}>
        <p role="status">{t.forgot.doneText(email)}</p>
        {back}
      </Frame>
    );
  }
  return (
    <Frame title={t.forgot.title}>
      <p class="muted">{t.forgot.text}</p>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy) void onSubmit();
        }}
      >
        <TextField
          label={t.login.email}
          type="email"
          autocomplete="username"
          required
          value={email}
          onValue={setEmail}
          problem={problem("email")}
        />
        <ProblemText error={rest} />
        <Button type="submit" kind="primary" busy={busy}>
          {t.forgot.submit}
        </Button>
      </form>
      <p class="muted small">{t.forgot.otherwise}</p>
      {back}
    </Frame>
  );
}
