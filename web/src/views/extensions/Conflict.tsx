import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Diff } from "./Diff";

interface Props {
  stored: string;
  mine: string;
  onTheirs: () => void;
  onMine: () => void;
}

/** Two users have changed the same text: this one decides which stays. */
export function Conflict({ stored, mine, onTheirs, onMine }: Props) {
  const t = useText().extensionText;
  return (
    <section class="notice warn">
      <h2>{t.conflictTitle}</h2>
      <p>{t.conflict}</p>
      <h3>{t.compare}</h3>
      <Diff before={stored} after={mine} />
      <div class="row">
        <Button onClick={onTheirs}>{t.theirs}</Button>
        <Button onClick={onMine}>{t.mine}</Button>
      </div>
    </section>
  );
}
