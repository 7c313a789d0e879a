import type { Schemas } from "../../api/client";
import { useText } from "../../text";
import { CheckList } from "../../ui/Field";

interface Props {
  left: readonly Schemas["Volume"][];
  /** By their names. */
  chosen: readonly string[];
  onChosen: (chosen: readonly string[]) => void;
}

/** Volumes of an earlier installation of the same name, which the new one can go on with. */
export function VolumesLeft({ left, chosen, onChosen }: Props) {
  const t = useText().extensionRun;
  if (left.length === 0) return null;
  return (
    <fieldset class="stack">
      <legend>{t.volumes}</legend>
      <p class="hint">{t.volumesHint}</p>
      <CheckList options={left.map(({ name }) => [name, name])} chosen={chosen} onChosen={onChosen} />
    </fieldset>
  );
}
