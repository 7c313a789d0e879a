import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type Application, useDeleteApplication } from "../../api/applications";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { Danger } from "../../ui/Danger";
import { CheckList } from "../../ui/Field";
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
              <CheckList
                options={application.volumes.map((volume) => [volume.name, volume.name])}
                chosen={volumes}
                onChosen={setVolumes}
              />
            </fieldset>
          )}
        </Confirm>
      )}
    </Danger>
  );
}
