import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { useRegisterWebhook, useRotateSecret } from "../../api/deliveries";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { CheckField, SelectField, TextField } from "../../ui/Field";
import { splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";

const GRACES = ["0", "600", "3600", "86400", "604800"] as const;

interface Props {
  application: Application;
  isRegistered: boolean;
  onClose: () => void;
}

/** A new secret. The one before is taken for a while, so that there is time to tell the code host. */
export function RotateSecret({ application, isRegistered, onClose }: Props) {
  const t = useText();
  const rotate = useRotateSecret(application.id);
  const register = useRegisterWebhook(application.id);
  const [grace, setGrace] = useState("86400");
  const [secret, setSecret] = useState("");
  const [tells, setTells] = useState(isRegistered);
  const error = rotate.error ?? register.error;
  const [problem, rest] = splitProblem(error, ["secret", "grace_seconds"]);

  const run = async () => {
    // What was done already is not done again when only telling the code host has failed.
    if (!rotate.isSuccess) {
      await rotate.mutateAsync({ grace_seconds: Number(grace), ...(secret.trim() ? { secret: secret.trim() } : {}) });
    }
    if (tells) await register.mutateAsync(true);
    tell(t.pushes.rotated);
    onClose();
  };
  return (
    <Confirm
      title={t.pushes.rotateTitle}
      action={rotate.isSuccess ? t.common.again : t.pushes.rotate}
      busy={rotate.isPending || register.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() => void run().catch(() => {})}
    >
      <SelectField
        label={t.pushes.grace}
        hint={t.pushes.graceHint}
        value={grace}
        onValue={setGrace}
        options={GRACES.map((seconds) => [seconds, t.pushes.graces[seconds]])}
      />
      <TextField
        label={t.pushes.ownSecret}
        hint={t.pushes.ownSecretHint}
        optional
        type="password"
        autocomplete="off"
        value={secret}
        onValue={setSecret}
        problem={problem("secret")}
      />
      {isRegistered ? (
        <CheckField label={t.pushes.tellHost} checked={tells} onChecked={setTells} />
      ) : (
        <p class="muted">{t.pushes.tellByHand}</p>
      )}
    </Confirm>
  );
}
