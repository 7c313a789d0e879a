import { useState } from "preact/hooks";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { TextField } from "../../ui/Field";

interface Props {
  title: string;
  text: string;
  action: string;
  danger?: boolean;
  busy: boolean;
  error: Error | null;
  onClose: () => void;
  onCode: (code: string) => void;
}

/** Asks for a code of the second factor before it does something. */
export function CodeDialog({ text, onCode, ...rest }: Props) {
  const t = useText();
  const [code, setCode] = useState("");
  return (
    <Confirm {...rest} onConfirm={() => onCode(code.trim())}>
      <p>{text}</p>
      <TextField
        label={t.login.code}
        hint={t.login.codeHint}
        autocomplete="one-time-code"
        required
        value={code}
        onValue={setCode}
      />
    </Confirm>
  );
}
