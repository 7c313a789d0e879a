import { useState } from "preact/hooks";
import { type RegistryCredential, useSaveRegistryCredential } from "../../api/registries";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { TextField } from "../../ui/Field";
import { splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";

interface Props {
  /** Null for new ones. */
  known: RegistryCredential | null;
  onClose: () => void;
}

export function EditCredential({ known, onClose }: Props) {
  const t = useText();
  const save = useSaveRegistryCredential(known?.id ?? null);
  const [host, setHost] = useState(known?.host ?? "");
  const [username, setUsername] = useState(known?.username ?? "");
  const [password, setPassword] = useState("");
  const [problem, rest] = splitProblem(save.error, ["host", "username", "password"]);
  return (
    <Confirm
      title={known ? t.registries.changeTitle(known.host) : t.registries.add}
      action={t.common.save}
      busy={save.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() =>
        save.mutate(
          { host: host.trim(), username: username.trim(), password },
          {
            onSuccess: () => {
              tell(t.registries.saved(host.trim()));
              onClose();
            },
          },
        )
      }
    >
      <TextField
        label={t.registries.host}
        hint={t.registries.hostHint}
        required
        readOnly={known !== null}
        autocomplete="off"
        value={host}
        onValue={setHost}
        problem={problem("host")}
      />
      <TextField
        label={t.registries.username}
        required
        autocomplete="off"
        value={username}
        onValue={setUsername}
        problem={problem("username")}
      />
      <TextField
        label={t.registries.password}
        hint={known ? t.registries.newPasswordHint : t.registries.passwordHint}
        type="password"
        autocomplete="off"
        required={known === null}
        optional={known !== null}
        value={password}
        onValue={setPassword}
        problem={problem("password")}
      />
    </Confirm>
  );
}
