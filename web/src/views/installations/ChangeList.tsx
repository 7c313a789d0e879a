import type { ValueChange } from "./changes";
import "../variables/variables.css";

/** What was and what will be, value by value. */
export function ChangeList({ changes }: { changes: readonly ValueChange[] }) {
  if (changes.length === 0) return null;
  return (
    <ul class="changes">
      {changes.map(({ name, before, after }) => (
        <li key={name}>
          <strong class="mono">{name}</strong>
          <code>
            {before !== null && <del>{before}</del>}
            {after !== null && <ins>{after}</ins>}
          </code>
        </li>
      ))}
    </ul>
  );
}
