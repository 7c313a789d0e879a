import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { resetPassword } from "../../api/instance";
import { forgetReset } from "../../session/reset";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { TextField } from "../../ui/Field";
import { fieldMessage, ProblemText, split } from "../../ui/Problem";
import { Frame } from "./Frame";

/** A password link, opened by a person who is logged in or not. It belongs to the account that it was made for. */
export default function ResetPassword({ token }: { token: string }) {
  const t = useText();
  const [password, setPassword] = useState("");
  const [isDone, setDone] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [field, rest] = split(error, ["password"]);

  const onSubmit = async () => {
    setBusy(true);
    setError(null);
    try {
      await resetPassword({ token, password });
      forgetReset();
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
    forgetReset();
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
          problem={error && field ? fieldMessage(error) : null}
        />
        {isUsedUp ? (
          <p class="problem-text" role="alert">
            {t.reset.invalid}
          </p>
        ) : (
          rest && <ProblemText error={rest} />
        )}
        <Button type="submit" kind="primary" busy={busy}>
          {t.reset.submit}
        </Button>
        <Button onClick={leave}>{t.common.cancel}</Button>
      </form>
    </Frame>
  );
}
