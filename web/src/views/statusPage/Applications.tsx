import type { ComponentChildren } from "preact";
import type { StatusPageApplication } from "../../api/statusPage";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { TextField } from "../../ui/Field";
import { AddApplication } from "./AddApplication";
import { useApplicationName } from "./ApplicationName";
import { MOST, moved, withName, without } from "./fields";

interface Props {
  all: readonly StatusPageApplication[];
  onAll: (all: readonly StatusPageApplication[]) => void;
  problem: string | null;
  children: ComponentChildren;
}

/** Which applications are shown, in which order, and what the public calls them. */
export function Applications({ all, onAll, problem, children }: Props) {
  const t = useText().statusPage;
  return (
    <fieldset class="stack">
      <legend>{t.applications}</legend>
      <p class="hint">{all.length === 0 ? `${t.none} ${t.applicationsHint}` : t.applicationsHint}</p>
      {all.length > 0 && (
        <ol class="shown-applications">
          {all.map((one, index) => (
            <Row
              key={one.application_id}
              one={one}
              isFirst={index === 0}
              isLast={index === all.length - 1}
              onName={(name) => onAll(withName(all, one.application_id, name))}
              onMove={(by) => onAll(moved(all, one.application_id, by))}
              onRemove={() => onAll(without(all, one.application_id))}
            />
          ))}
        </ol>
      )}
      {all.length < MOST ? (
        <AddApplication
          chosen={all.map(({ application_id }) => application_id)}
          onAdd={(id, name) => onAll([...all, { application_id: id, name }])}
        />
      ) : (
        <p class="muted">{t.full}</p>
      )}
      {problem && (
        <p class="field-problem" role="alert">
          {problem}
        </p>
      )}
      {children}
    </fieldset>
  );
}

interface RowProps {
  one: StatusPageApplication;
  isFirst: boolean;
  isLast: boolean;
  onName: (name: string) => void;
  onMove: (by: -1 | 1) => void;
  onRemove: () => void;
}

function Row({ one, isFirst, isLast, onName, onMove, onRemove }: RowProps) {
  const t = useText().statusPage;
  const own = useApplicationName(one.application_id);
  return (
    <li class="shown-application">
      <TextField
        label={t.publicNameOf(own)}
        required
        maxLength={100}
        autocomplete="off"
        value={one.name}
        onValue={onName}
      />
      <div class="row">
        <Button aria-label={t.upAt(own)} disabled={isFirst} onClick={() => onMove(-1)}>
          {t.up}
        </Button>
        <Button aria-label={t.downAt(own)} disabled={isLast} onClick={() => onMove(1)}>
          {t.down}
        </Button>
        <Button aria-label={t.removeAt(own)} onClick={onRemove}>
          {t.remove}
        </Button>
      </div>
    </li>
  );
}
