import type { ComponentChildren } from "preact";
import "./facts.css";

/** Names and what they are. What is absent is left out. */
export function Facts({ rows }: { rows: [name: string, value: ComponentChildren][] }) {
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
