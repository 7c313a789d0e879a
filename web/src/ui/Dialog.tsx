import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { useText } from "../text";
import { Button } from "./Button";
import { CloseIcon } from "./icons";
import "./dialog.css";

interface Props {
  title: string;
  /** Absent when it cannot be closed by the user. */
  onClose?: () => void;
  wide?: boolean;
  children: ComponentChildren;
}

/** The platform's modal dialog: it keeps the focus inside and gives it back when it is removed. */
export function Dialog({ title, onClose, wide = false, children }: Props) {
  const t = useText();
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement;
    const dialog = ref.current;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={wide ? "wide" : ""}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      onMouseDown={(event) => {
        if (event.target === event.currentTarget) onClose?.();
      }}
    >
      <div class="dialog-body">
        <header class="row between">
          <h2 id={titleId}>{title}</h2>
          {onClose && (
            <Button kind="quiet" class="icon-only" aria-label={t.common.close} onClick={onClose}>
              <CloseIcon />
            </Button>
          )}
        </header>
        {children}
      </div>
    </dialog>
  );
}
