import { useState } from "preact/hooks";
import { useRotateSigningSecret, useSigningSecret } from "../../api/notifications";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { Time } from "../../ui/Time";
import { tell } from "../../ui/Toast";

/** What deliveries to a receiver of one's own are signed with. */
export function SigningSecret() {
  const t = useText().notifications;
  const { data, error, refetch } = useSigningSecret();
  const rotate = useRotateSigningSecret();
  const [asks, setAsks] = useState(false);
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <div class="signing-secret">
      <strong>{t.secret}</strong>
      <Copyable value={data.secret} label={t.secret} secret />
      <span class="hint">{t.secretHint}</span>
      {data.previous_secret_until && (
        <span class="hint">
          {t.previousUntil} <Time at={data.previous_secret_until} />
        </span>
      )}
      <span>
        <Button onClick={() => setAsks(true)}>{t.rotate}</Button>
      </span>
      {asks && (
        <Confirm
          title={t.rotateTitle}
          action={t.rotate}
          busy={rotate.isPending}
          error={rotate.error}
          onClose={() => setAsks(false)}
          onConfirm={() =>
            rotate.mutate(undefined, {
              onSuccess: () => {
                tell(t.rotated);
                setAsks(false);
              },
            })
          }
        >
          <p>{t.rotateText}</p>
        </Confirm>
      )}
    </div>
  );
}
