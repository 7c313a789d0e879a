import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useText } from "../text";
import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { TextField } from "./Field";
import { ProblemText } from "./Problem";

interface Props {
  title: string;
  action: string;
  danger?: boolean;
  wide?: boolean;
  /** What has to be typed before the button works. */
  typed?: { label: string; text: string };
  busy: boolean;
  error: Error | null;
  onConfirm: () => void;
  onClose: () => void;
  children: ComponentChildren;
}

/** Says what an action will do before it is done. */
export function Confirm(props: Props) {
  const { title, action, danger = false, wide = false, typed, busy, error, onConfirm, onClose, children } = props;
  const t = useText();
  const [text, setText] = useState("");
  const isAllowed = !typed || text === typed.text;
  return (
    <Dialog title={title} onClose={onClose} wide={wide}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (isAllowed && !busy) onConfirm();
        }}
      >
        {children}
        {typed && (
          <TextField label={typed.label} value={text} onValue={setText} autocomplete="off" spellcheck={false} />
        )}
        <ProblemText error={error} />
        <div class="dialog-actions">
          <Button onClick={onClose}>{t.common.cancel}</Button>
          <Button type="submit" kind={danger ? "danger" : "primary"} busy={busy} disabled={!isAllowed}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
