import { useText } from "../text";
import { Button } from "./Button";
import "./field-conflict.css";

interface Props {
  /** What it was changed to meanwhile, in words. */
  theirs: string;
  onTakeTheirs: () => void;
  onKeepMine: () => void;
}

/** At a field that the user has changed, and meanwhile another one too. */
export function FieldConflict({ theirs, onTakeTheirs, onKeepMine }: Props) {
  const t = useText();
  return (
    <div class="conflict row" role="alert">
      <span class="break">{t.settings.conflict(theirs || t.settings.empty)}</span>
      <Button onClick={onTakeTheirs}>{t.settings.takeTheirs}</Button>
      <Button onClick={onKeepMine}>{t.settings.keepMine}</Button>
    </div>
  );
}
