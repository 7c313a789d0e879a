import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { resetPassword } from "../../api/instance";
import { forgetLinkToken } from "../../session/linkToken";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { TextField } from "../../ui/Field";
import { ProblemText, splitProblem } from "../../ui/Problem";
import { Frame } from "./Frame";

/** A password link, opened by a person who is logged in or not. It belongs to the account that it was made for. */
export default function ResetPassword({ token }: { token: string }) {
  const t = useText();
  const [password, setPassword] = useState("");
  const [isDone, setDone] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [problem, rest] = splitProblem(error, ["password"]);

  const onSubmit = async () => {
    setBusy(true);
    setError(null);
    try {
      await resetPassword({ token, password });
      forgetLinkToken();
      setDone(true);
    } catch (thrown) {
      setError(thrown as Error);
    }
    setBusy(false);
  };
  if (isDone) {
    return (
      <Frame title={t.reset.done}>
        <p>{t.reset.doneText}</p>
        <Button kind="primary" onClick={() => location.assign("/")}>
          {t.reset.toLogin}
        </Button>
      </Frame>
    );
  }
  const leave = () => {
    forgetLinkToken();
    location.reload();
  };
  const isUsedUp = error instanceof ApiError && error.code === "not_found";
  return (
    <Frame title={t.reset.title}>
      <p class="muted">{t.reset.text}</p>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy) void onSubmit();
        }}
      >
        <TextField
          label={t.reset.password}
          hint={t.register.passwordHint}
          type="password"
          autocomplete="new-password"
          required
          value={password}
          onValue={setPassword}
          problem={problem("password")}
        />
        {isUsedUp ? (
          <p class="problem-text" role="alert">
            {t.reset.invalid}
          </p>
        ) : (
          <ProblemText error={rest} />
        )}
        <Button type="submit" kind="primary" busy={busy}>
          {t.reset.submit}
        </Button>
        <Button onClick={leave}>{t.common.cancel}</Button>
      </form>
    </Frame>
  );
}
