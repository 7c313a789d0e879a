import { useEffect, useState } from "preact/hooks";
import { useText } from "../text";
import { Button } from "./Button";
import { CloseIcon } from "./icons";
import { describe } from "./Problem";
import "./toast.css";

interface Toast {
  id: number;
  message: string;
  bad: boolean;
}

const SHOWN_MS = 6_000;
let toasts: Toast[] = [];
let last = 0;
const listeners = new Set<(toasts: Toast[]) => void>();

function show(next: Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener(toasts);
}

const dismiss = (id: number): void => show(toasts.filter((toast) => toast.id !== id));

function add(message: string, bad: boolean): void {
  last += 1;
  const id = last;
  show([...toasts.slice(-3), { id, message, bad }]);
  // What went wrong stays until it is read.
  if (!bad) setTimeout(() => dismiss(id), SHOWN_MS);
}

export const tell = (message: string): void => add(message, false);

/** For actions that have no place of their own for an error. */
export function useTellProblem(): (error: Error) => void {
  const t = useText();
  return (error) => {
    const { message, advice } = describe(error, t);
    add(`${message} ${advice}`.trim(), true);
  };
}

export function Toasts() {
  const t = useText();
  const [shown, setShown] = useState(toasts);
  useEffect(() => {
    listeners.add(setShown);
    return () => {
      listeners.delete(setShown);
    };
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map((toast) => (
        <div key={toast.id} class={`toast${toast.bad ? " bad" : ""}`}>
          <span class="break">{toast.message}</span>
          <Button kind="quiet" class="icon-only" aria-label={t.common.close} onClick={() => dismiss(toast.id)}>
            <CloseIcon />
          </Button>
        </div>
      ))}
    </div>
  );
}
