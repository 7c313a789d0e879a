import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";

interface Props {
  name: string;
  hint: string;
  asked: { data: object | null | undefined; error: Error | null; refetch: () => unknown };
  isActive: boolean | undefined;
  mayUpdate: boolean;
  mayDelete: boolean;
  removeText: string;
  removal: { isPending: boolean; error: Error | null; start: (done: () => void) => void };
  onEdit: () => void;
  /** What else can be done with what is stored. */
  actions: ComponentChildren;
  /** What came of it. */
  below: ComponentChildren;
  children: ComponentChildren;
}

/** One place that notifications go to: what is stored, and what can be done with it. */
export function Channel(props: Props) {
  const t = useText();
  const { name, hint, asked, isActive, mayUpdate, mayDelete, removeText, removal, onEdit } = props;
  const [asks, setAsks] = useState(false);
  if (asked.error && !asked.data) return <Problem error={asked.error} onAgain={() => void asked.refetch()} />;
  if (asked.data === undefined) return <Loading />;
  const isThere = asked.data !== null;
  const state = isThere ? (isActive ? t.notifications.isActive : t.notifications.paused) : t.notifications.none;
  return (
    <section class="card stack">
      <div class="row between">
        <h3>{name}</h3>
        <span class={`state${isActive ? " good" : ""}`}>{state}</span>
      </div>
      {isThere ? props.children : <p class="muted break">{hint}</p>}
      {(mayUpdate || (isThere && mayDelete)) && (
        <div>
          <div class="row">
            {mayUpdate && (
              <Button
                aria-label={isThere ? t.notifications.changeAt(name) : t.notifications.setUpAt(name)}
                onClick={onEdit}
              >
                {isThere ? t.notifications.change : t.notifications.setUp}
              </Button>
            )}
            {isThere && props.actions}
            {isThere && mayDelete && (
              <Button kind="danger" aria-label={t.notifications.removeAt(name)} onClick={() => setAsks(true)}>
                {t.notifications.remove}
              </Button>
            )}
          </div>
          {isThere && props.below}
        </div>
      )}
      {asks && (
        <Confirm
          title={t.notifications.removeTitle(name)}
          action={t.notifications.remove}
          danger
          busy={removal.isPending}
          error={removal.error}
          onClose={() => setAsks(false)}
          onConfirm={() =>
            removal.start(() => {
              tell(t.notifications.removed(name));
              setAsks(false);
            })
          }
        >
          <p>{removeText}</p>
        </Confirm>
      )}
    </section>
  );
}
