import type { ComponentChildren } from "preact";
import { Button } from "./Button";
import "./danger.css";

interface Props {
  title: string;
  text: string;
  action: string;
  onAsk: () => void;
  /** The dialog, once it is asked for. */
  children: ComponentChildren;
}

/** An action that cannot be taken back, apart from all others. Its button only opens the question. */
export function Danger({ title, text, action, onAsk, children }: Props) {
  return (
    <section class="card danger stack">
      <h2>{title}</h2>
      <p>{text}</p>
      <p>
        <Button kind="danger" onClick={onAsk}>
          {action}…
        </Button>
      </p>
      {children}
    </section>
  );
}
