import type { ComponentChildren } from "preact";
import { useText } from "../text";
import "./states.css";

/** Says what to do next where there is nothing yet. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Loading() {
  return (
    <p class="loading" role="status">
      {useText().common.loading}
    </p>
  );
}
