import type { ComponentChildren } from "preact";
import "./save-bar.css";

/** The buttons of a long form, which stay in sight while the form is scrolled. */
export function SaveBar({ children }: { children: ComponentChildren }) {
  return <div class="save-bar row">{children}</div>;
}
