import type { ComponentChildren } from "preact";
import "./person.css";

/** A user in a list. `children` are marks beside the name. */
export function Person({ name, email, children }: { name: string; email: string; children: ComponentChildren }) {
  return (
    <div class="person">
      <span>
        {name} {children}
      </span>
      <span class="muted small">{email}</span>
    </div>
  );
}
