import { useState } from "preact/hooks";
import { useConfirmSecondFactor, useSetUpSecondFactor } from "../../api/account";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { Copy } from "../../ui/Copy";
import { TextField } from "../../ui/Field";
import "./account.css";

interface Props {
  onClose: () => void;
  onCodes: (codes: readonly string[]) => void;
}

/** The password, then a picture for the authenticator, then a code that shows that it works. */
export function SetUpSecondFactor({ onClose, onCodes }: Props) {
  const t = useText();
  const setUp = useSetUpSecondFactor();
  const confirm = useConfirmSecondFactor();
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");

  if (!setUp.data) {
    return (
      <Confirm
        title={t.account.factorTitle}
        action={t.common.next}
        busy={setUp.isPending}
        error={setUp.error}
        onClose={onClose}
        onConfirm={() => setUp.mutate(password)}
      >
        <TextField
          label={t.account.factorStart}
          type="password"
          autocomplete="current-password"
          required
          value={password}
          onValue={setPassword}
        />
      </Confirm>
    );
  }
  const { qr_svg, secret } = setUp.data;
  return (
    <Confirm
      key="code"
      title={t.account.factorTitle}
      action={t.account.factorConfirm}
      busy={confirm.isPending}
      error={confirm.error}
      onClose={onClose}
      onConfirm={() => confirm.mutate(code.trim(), { onSuccess: (data) => onCodes(data.recovery_codes) })}
    >
      <p>{t.account.factorScan}</p>
      {/* As an image, markup of the server stays a picture: nothing in it can run. */}
      <img class="qr" alt={t.account.factorQr} src={`data:image/svg+xml,${encodeURIComponent(qr_svg)}`} />
      <p class="row">
        {t.account.factorSecret}: <code class="break">{secret}</code> <Copy value={secret} />
      </p>
      <TextField
        label={t.account.factorCode}
        autocomplete="one-time-code"
        inputMode="numeric"
        required
        value={code}
        onValue={setCode}
      />
    </Confirm>
  );
}
