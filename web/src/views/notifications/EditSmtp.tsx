import { useState } from "preact/hooks";
import { type SmtpConfig, type SmtpSecurity, useSaveSmtp } from "../../api/notifications";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { CheckField, SelectField, TextField } from "../../ui/Field";
import { splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { bodyOf, fieldsOf, type SmtpFields } from "./smtp";

const FIELDS = ["host", "port", "username", "password", "from_email", "from_name", "security"];
const SECURITIES: readonly SmtpSecurity[] = ["starttls", "tls", "none"];

export function EditSmtp({ stored, onClose }: { stored: SmtpConfig | null; onClose: () => void }) {
  const t = useText();
  const save = useSaveSmtp(!stored);
  const [fields, setFields] = useState(() => fieldsOf(stored));
  const [problem, rest] = splitProblem(save.error, FIELDS);
  const set = (part: Partial<SmtpFields>) => setFields((before) => ({ ...before, ...part }));
  const bind = (name: "host" | "port" | "username" | "password" | "from_email" | "from_name") => ({
    value: fields[name],
    onValue: (value: string) => set({ [name]: value }),
    problem: problem(name),
  });
  return (
    <Confirm
      title={stored ? t.notifications.changeAt(t.notifications.mail) : t.notifications.setUpAt(t.notifications.mail)}
      action={t.common.save}
      busy={save.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() =>
        save.mutate(bodyOf(fields), {
          onSuccess: () => {
            tell(t.common.saved);
            onClose();
          },
        })
      }
    >
      <TextField
        label={t.notifications.host}
        placeholder="mail.example.org"
        required
        autocomplete="off"
        {...bind("host")}
      />
      <SelectField
        label={t.notifications.security}
        value={fields.security}
        options={SECURITIES.map((name) => [name, t.notifications.securityIs[name]] as const)}
        onValue={(security) => set({ security: security as SmtpSecurity })}
        problem={problem("security")}
      />
      <TextField
        label={t.notifications.port}
        hint={t.notifications.portHint}
        inputMode="numeric"
        pattern="[0-9]*"
        required={stored !== null}
        optional={!stored}
        {...bind("port")}
      />
      <TextField label={t.notifications.username} optional autocomplete="off" {...bind("username")} />
      <TextField
        label={t.notifications.password}
        hint={stored?.has_password ? t.notifications.passwordKept : undefined}
        type="password"
        autocomplete="new-password"
        optional
        disabled={fields.noPassword}
        {...bind("password")}
      />
      {stored?.has_password && (
        <CheckField
          label={t.notifications.noPassword}
          checked={fields.noPassword}
          onChecked={(noPassword) => set({ noPassword, password: "" })}
        />
      )}
      <TextField label={t.notifications.from} type="email" required autocomplete="off" {...bind("from_email")} />
      <TextField label={t.notifications.fromName} optional autocomplete="off" {...bind("from_name")} />
      <CheckField
        label={t.notifications.active}
        checked={fields.is_active}
        onChecked={(is_active) => set({ is_active })}
      />
    </Confirm>
  );
}
