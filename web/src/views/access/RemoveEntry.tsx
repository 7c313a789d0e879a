import { type EntriesField, useChangeEntry } from "../../api/access";
import type { Application } from "../../api/applications";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { tell } from "../../ui/Toast";

interface Props {
  application: Application;
  field: EntriesField;
  name: string;
  action: string;
  text: string;
  onClose: () => void;
}

export function RemoveEntry({ application, field, name, action, text, onClose }: Props) {
  const t = useText();
  const change = useChangeEntry(application, field);
  return (
    <Confirm
      title={t.access.removeTitle(name)}
      action={action}
      danger
      busy={change.isPending}
      error={change.error}
      onClose={onClose}
      onConfirm={() =>
        change.mutate(
          { name, value: null },
          {
            onSuccess: () => {
              tell(t.access.removed(name));
              onClose();
            },
          },
        )
      }
    >
      <p>{text}</p>
    </Confirm>
  );
}
