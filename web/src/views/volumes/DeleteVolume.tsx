import { useLocation } from "preact-iso";
import type { Application } from "../../api/applications";
import { useDeleteVolume, type Volume } from "../../api/volumes";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { tell } from "../../ui/Toast";

interface Props {
  application: Application;
  volume: Volume;
  onClose: () => void;
}

export function DeleteVolume({ application, volume, onClose }: Props) {
  const t = useText();
  const { route } = useLocation();
  const remove = useDeleteVolume(application.id);
  return (
    <Confirm
      title={t.volumes.removeTitle(volume.name)}
      action={t.volumes.remove}
      danger
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() =>
        remove.mutate(volume.name, {
          onSuccess: () => {
            tell(t.volumes.removed(volume.name));
            route(`/applications/${application.id}/volumes`);
          },
        })
      }
    >
      <p>{volume.host_path ? t.volumes.removeHostText : t.volumes.removeText}</p>
    </Confirm>
  );
}
