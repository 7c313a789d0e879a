import type { Application } from "../../api/applications";
import { type Snapshot, useDeleteSnapshot } from "../../api/volumes";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { Time } from "../../ui/Time";
import { tell } from "../../ui/Toast";

interface Props {
  application: Application;
  snapshot: Snapshot;
  onClose: () => void;
}

export function DeleteSnapshot({ application, snapshot, onClose }: Props) {
  const t = useText();
  const remove = useDeleteSnapshot(application.id);
  return (
    <Confirm
      title={t.volumes.deleteSnapshotTitle}
      action={t.volumes.remove}
      danger
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() =>
        remove.mutate(snapshot.id, {
          onSuccess: () => {
            tell(t.volumes.snapshotDeleted);
            onClose();
          },
        })
      }
    >
      <p>
        {snapshot.application_name} / {snapshot.volume_name}, <Time at={snapshot.created_at} />
      </p>
      <p>{t.volumes.deleteSnapshotText}</p>
    </Confirm>
  );
}
