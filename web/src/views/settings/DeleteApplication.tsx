import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type Application, useDeleteApplication } from "../../api/applications";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { Danger } from "../../ui/Danger";
import { CheckField } from "../../ui/Field";
import { tell } from "../../ui/Toast";

export function DeleteApplication({ application }: { application: Application }) {
  const t = useText();
  const { route } = useLocation();
  const remove = useDeleteApplication();
  const [asks, setAsks] = useState(false);
  const [volumes, setVolumes] = useState<readonly string[]>([]);
  const { id, name } = application;
  return (
    <Danger
      title={t.application.danger}
      text={t.application.removeText}
      action={t.application.remove}
      onAsk={() => setAsks(true)}
    >
      {asks && (
        <Confirm
          title={t.application.removeTitle(name)}
          action={t.application.remove}
          danger
          typed={{ label: t.application.removeConfirm, text: name }}
          busy={remove.isPending}
          error={remove.error}
          onClose={() => setAsks(false)}
          onConfirm={() =>
            remove.mutate(
              { id, name, ...(volumes.length > 0 ? { volumes: [...volumes] } : {}) },
              {
                onSuccess: () => {
                  tell(t.application.removed(name));
                  route("/applications");
                },
              },
            )
          }
        >
          <p>{t.application.removeText}</p>
          {application.volumes.length > 0 && (
            <fieldset class="stack">
              <legend>{t.application.removeVolumes}</legend>
              {application.volumes.map((volume) => (
                <CheckField
                  key={volume.id}
                  label={volume.name}
                  checked={volumes.includes(volume.name)}
                  onChecked={(checked) =>
                    setVolumes(checked ? [...volumes, volume.name] : volumes.filter((other) => other !== volume.name))
                  }
                />
              ))}
            </fieldset>
          )}
        </Confirm>
      )}
    </Danger>
  );
}
