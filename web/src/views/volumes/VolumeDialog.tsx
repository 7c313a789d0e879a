import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { Application } from "../../api/applications";
import { useCreateVolume, useUpdateVolume, type Volume } from "../../api/volumes";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { changedBody, draftOf, newBody, type VolumeDraft } from "./draft";
import { VolumeFields } from "./VolumeFields";

const FIELDS = [
  "name",
  "path",
  "shared",
  "host_path",
  "snapshot_hours",
  "kept_snapshots",
  "before_snapshot",
  "after_snapshot",
];

interface Props {
  application: Application;
  /** Null for a new one. */
  volume: Volume | null;
  onClose: () => void;
}

export function VolumeDialog({ application, volume, onClose }: Props) {
  const t = useText();
  const { route } = useLocation();
  const create = useCreateVolume(application.id);
  const update = useUpdateVolume(application.id, volume?.name ?? "");
  const [begun] = useState(() => draftOf(volume));
  const [draft, setDraft] = useState(begun);
  const error = create.error ?? update.error;
  const [problem, rest] = splitProblem(error, FIELDS);
  const change = (part: Partial<VolumeDraft>) => setDraft((before) => ({ ...before, ...part }));
  const saved = ({ name }: Volume) => {
    tell(volume ? t.common.saved : t.volumes.added(name));
    onClose();
    if (volume && name !== volume.name) route(`/applications/${application.id}/volumes/${name}`, true);
  };
  return (
    <Confirm
      title={volume ? t.volumes.editTitle(volume.name) : t.volumes.add}
      action={volume ? t.common.save : t.volumes.add}
      busy={create.isPending || update.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() =>
        volume
          ? update.mutate(changedBody(begun, draft), { onSuccess: saved })
          : create.mutate(newBody(draft), { onSuccess: saved })
      }
    >
      <VolumeFields draft={draft} change={change} isNew={volume === null} problem={problem} />
      <p class="muted">{t.volumes.acts}</p>
    </Confirm>
  );
}
