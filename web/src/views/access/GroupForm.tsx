import type { ComponentChildren } from "preact";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { ProblemText } from "../../ui/Problem";
import type { Group } from "./useGroup";

interface Props {
  /** What its buttons are told apart by. */
  title: string;
  group: Group;
  readOnly: boolean;
  /** Something that was typed cannot be read. */
  isUnreadable?: boolean;
  children: ComponentChildren;
}

export function GroupForm({ title, group, readOnly, isUnreadable = false, children }: Props) {
  const t = useText();
  const { isBusy, isChanged, isInConflict } = group;
  const maySave = isChanged && !isInConflict && !isUnreadable;
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy && maySave) void group.save();
      }}
    >
      <div class="fields">{children}</div>
      {isInConflict && <p class="problem-text">{t.settings.resolve}</p>}
      <ProblemText error={group.error} />
      {!readOnly && (
        <div class="row">
          <Button
            type="submit"
            kind="primary"
            aria-label={`${t.common.save}: ${title}`}
            busy={isBusy}
            disabled={!maySave}
          >
            {t.common.save}
          </Button>
          {isChanged && (
            <Button aria-label={`${t.settings.discard}: ${title}`} disabled={isBusy} onClick={group.discard}>
              {t.settings.discard}
            </Button>
          )}
        </div>
      )}
    </form>
  );
}
