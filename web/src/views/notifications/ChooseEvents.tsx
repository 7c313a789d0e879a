import { useState } from "preact/hooks";
import { type Preference, useSavePreference, type WebhookType } from "../../api/notifications";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { tell } from "../../ui/Toast";
import { bodyFor, choiceOf, isComplete } from "./choice";
import { EventChoice } from "./EventChoice";
import { EVENTS } from "./events";

interface Props {
  channel: WebhookType;
  stored: Preference;
  onClose: () => void;
}

/** What goes to a channel of the organization. */
export function ChooseEvents({ channel, stored, onClose }: Props) {
  const t = useText();
  const save = useSavePreference();
  const [choice, setChoice] = useState(() => choiceOf(stored));
  const [isRefused, setRefused] = useState(false);
  const run = () => {
    setRefused(!isComplete(choice));
    if (!isComplete(choice)) return;
    save.mutate(bodyFor(channel, choice), {
      onSuccess: () => {
        tell(t.common.saved);
        onClose();
      },
    });
  };
  return (
    <Confirm
      title={t.notifications.toldAt(t.notifications.kind[channel])}
      action={t.common.save}
      wide
      busy={save.isPending}
      error={save.error}
      onClose={onClose}
      onConfirm={run}
    >
      <p class="muted">{t.notifications.savedBy}</p>
      <EventChoice
        choice={choice}
        onChoice={setChoice}
        offered={EVENTS}
        isIncomplete={isRefused && !isComplete(choice)}
      />
    </Confirm>
  );
}
