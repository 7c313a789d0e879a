import { useText } from "../text";
import { Button } from "./Button";
import { Copy } from "./Copy";
import { Dialog } from "./Dialog";
import { TextField } from "./Field";
import { exact } from "./time";

interface Props {
  title: string;
  text: string;
  label: string;
  value: string;
  /** Until when it works. */
  ends: string;
  onClose: () => void;
}

/** A link that the API tells only once. A click beside the dialog does not close it, since it could not be had again. */
export function ShownOnce({ title, text, label, value, ends, onClose }: Props) {
  const t = useText();
  return (
    <Dialog title={title}>
      <p>{text}</p>
      <TextField
        label={label}
        hint={`${t.organization.linkEnds} ${exact(Date.parse(ends), t.language)}`}
        readOnly
        class="mono"
        value={value}
        onValue={() => {}}
        onFocus={(event) => event.currentTarget.select()}
      />
      <div class="dialog-actions">
        <Copy value={value} label={t.common.copy} />
        <Button kind="primary" onClick={onClose}>
          {t.common.close}
        </Button>
      </div>
    </Dialog>
  );
}
