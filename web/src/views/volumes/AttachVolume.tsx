import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { useAttachVolume, type Volume } from "../../api/volumes";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { TextField } from "../../ui/Field";
import { splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";

interface Props {
  application: Application;
  volume: Volume;
  onClose: () => void;
}

/** Brings a volume to this application, with another name or path if there is one like it. */
export function AttachVolume({ application, volume, onClose }: Props) {
  const t = useText();
  const attach = useAttachVolume(application.id, volume.id);
  const [name, setName] = useState(volume.name);
  const [path, setPath] = useState(volume.path);
  const [problem, rest] = splitProblem(attach.error, ["name", "path"]);
  return (
    <Confirm
      title={t.volumes.attachTitle(volume.name, application.name)}
      action={t.volumes.attach}
      busy={attach.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() =>
        attach.mutate(
          { name: name.trim(), path: path.trim() },
          {
            onSuccess: (attached) => {
              tell(t.volumes.added(attached.name));
              onClose();
            },
          },
        )
      }
    >
      <TextField
        label={t.volumes.name}
        hint={t.volumes.nameHint}
        required
        autocomplete="off"
        value={name}
        onValue={setName}
        problem={problem("name")}
      />
      <TextField
        label={t.volumes.path}
        hint={t.volumes.pathHint}
        required
        autocomplete="off"
        value={path}
        onValue={setPath}
        problem={problem("path")}
      />
      <p class="muted">{t.volumes.acts}</p>
    </Confirm>
  );
}
