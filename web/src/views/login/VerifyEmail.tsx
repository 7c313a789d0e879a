import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { verifyEmail } from "../../api/login";
import { forgetLinkToken } from "../../session/linkToken";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { ProblemText } from "../../ui/Problem";
import { Frame } from "./Frame";

/** A link that was sent to an address. A person presses the button: programs that look into mails open links too. */
export default function VerifyEmail({ token }: { token: string }) {
  const t = useText();
  const [isDone, setDone] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);

  const verify = async () => {
    setBusy(true);
    setError(null);
    try {
      await verifyEmail(token);
      forgetLinkToken();
      setDone(true);
    } catch (thrown) {
      setError(thrown as Error);
    }
    setBusy(false);
  };
  if (isDone) {
    return (
      <Frame title={t.verifyEmail.done}>
        <p>{t.verifyEmail.doneText}</p>
        <Button kind="primary" onClick={() => location.assign("/")}>
          {t.verifyEmail.go}
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
    <Frame title={t.verifyEmail.title}>
      <p class="muted">{t.verifyEmail.text}</p>
      {isUsedUp ? (
        <p class="problem-text" role="alert">
          {t.verifyEmail.invalid}
        </p>
      ) : (
        <ProblemText error={error} />
      )}
      <Button kind="primary" busy={busy} onClick={() => void verify()}>
        {t.verifyEmail.submit}
      </Button>
      <Button onClick={leave}>{t.common.cancel}</Button>
    </Frame>
  );
}
