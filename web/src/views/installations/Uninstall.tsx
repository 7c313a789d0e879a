import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type Installation, isBusy, useUninstall } from "../../api/installations";
import { useText } from "../../text";
import { bytes } from "../../ui/bytes";
import { Confirm } from "../../ui/Confirm";
import { Danger } from "../../ui/Danger";
import { CheckField, CheckList } from "../../ui/Field";

export function Uninstall({ installation }: { installation: Installation }) {
  const t = useText().installations;
  const [asks, setAsks] = useState(false);
  if (isBusy(installation)) return null;
  return (
    <Danger title={t.danger} text={t.uninstallText} action={t.uninstall} onAsk={() => setAsks(true)}>
      {asks && <Ask installation={installation} onClose={() => setAsks(false)} />}
    </Danger>
  );
}

function Ask({ installation, onClose }: { installation: Installation; onClose: () => void }) {
  const t = useText().installations;
  const { route } = useLocation();
  const uninstall = useUninstall(installation.id);
  const [deleted, setDeleted] = useState<readonly string[]>([]);
  const [force, setForce] = useState(false);
  const { name, volumes } = installation;
  const body = { name, ...(deleted.length > 0 ? { volumes: [...deleted] } : {}), ...(force ? { force } : {}) };
  return (
    <Confirm
      title={t.uninstallTitle(name)}
      action={t.uninstall}
      danger
      typed={{ label: t.uninstallConfirm, text: name }}
      busy={uninstall.isPending}
      error={uninstall.error}
      onClose={onClose}
      onConfirm={() => uninstall.mutate(body, { onSuccess: ({ id }) => route(`/extensions/executions/${id}`) })}
    >
      <p>{t.uninstallText}</p>
      {volumes.length > 0 && (
        <fieldset class="stack">
          <legend>{t.uninstallVolumes}</legend>
          <CheckList
            options={volumes.map(({ name: volume, size_bytes }) => [
              volume,
              size_bytes === null ? volume : `${volume}, ${bytes(size_bytes)}`,
            ])}
            chosen={deleted}
            onChosen={setDeleted}
          />
          <p class="hint">{t.uninstallStay}</p>
        </fieldset>
      )}
      {installation.state === "failed" && <CheckField label={t.uninstallForce} checked={force} onChecked={setForce} />}
    </Confirm>
  );
}
