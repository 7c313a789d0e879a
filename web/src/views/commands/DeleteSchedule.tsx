import type { Application } from "../../api/applications";
import { type Schedule, useDeleteSchedule } from "../../api/schedules";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { tell } from "../../ui/Toast";

interface Props {
  application: Application;
  schedule: Schedule;
  onClose: () => void;
}

export function DeleteSchedule({ application, schedule, onClose }: Props) {
  const t = useText().schedules;
  const remove = useDeleteSchedule(application.id);
  return (
    <Confirm
      title={t.removeTitle(schedule.name)}
      action={t.remove}
      danger
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() =>
        remove.mutate(schedule.id, {
          onSuccess: () => {
            tell(t.removed(schedule.name));
            onClose();
          },
        })
      }
    >
      <p>{t.removeText}</p>
    </Confirm>
  );
}
