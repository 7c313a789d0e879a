import { useText } from "../text";
import { Button } from "./Button";

interface Props {
  /** What is gone through. */
  label: string;
  /** Where the page that is shown begins; null for the newest. */
  before: string | null;
  /** Where the next one begins; null if there is none. */
  next: string | null;
  onBefore: (before: string | null) => void;
}

/** Of a list that grows at its beginning. */
export function CursorPages({ label, before, next, onBefore }: Props) {
  const t = useText().common;
  if (!before && !next) return null;
  return (
    <nav class="row" aria-label={label}>
      <Button disabled={!before} onClick={() => onBefore(null)}>
        {t.newest}
      </Button>
      <Button disabled={!next} onClick={() => onBefore(next)}>
        {t.older}
      </Button>
    </nav>
  );
}
