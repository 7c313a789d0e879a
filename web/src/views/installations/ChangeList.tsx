import { BeforeAfter, Changes } from "../../ui/Changes";
import type { ValueChange } from "./changes";

/** What was and what will be, value by value. */
export function ChangeList({ changes }: { changes: readonly ValueChange[] }) {
  if (changes.length === 0) return null;
  return (
    <Changes>
      {changes.map(({ name, before, after }) => (
        <li key={name}>
          <strong class="mono">{name}</strong>
          <BeforeAfter before={before} after={after} />
        </li>
      ))}
    </Changes>
  );
}
