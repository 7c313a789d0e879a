import { useState } from "preact/hooks";
import { type Uptime, useDeleteUptime, useUpdateUptime } from "../../api/uptime";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { tell, useTellProblem } from "../../ui/Toast";
import { EditUptime } from "./EditUptime";

export function Actions({ uptime }: { uptime: Uptime }) {
  const t = useText().uptime;
  const mayUpdate = useMay("deploy:update");
  const [open, setOpen] = useState<"change" | "delete" | null>(null);
  if (!mayUpdate) return <p class="muted">{t.mayNot}</p>;
  return (
    <div class="row">
      <Button onClick={() => setOpen("change")}>{t.change}</Button>
      <Switch uptime={uptime} />
      <Button kind="danger" onClick={() => setOpen("delete")}>
        {t.remove}
      </Button>
      {open === "change" && <EditUptime uptime={uptime} onClose={() => setOpen(null)} />}
      {open === "delete" && <DeleteUptime uptime={uptime} onClose={() => setOpen(null)} />}
    </div>
  );
}

/** What was seen stays. */
function Switch({ uptime }: { uptime: Uptime }) {
  const t = useText();
  const update = useUpdateUptime(uptime.application_id);
  const tellProblem = useTellProblem();
  const enabled = !uptime.enabled;
  const saved = enabled ? t.common.saved : t.uptime.turnedOff;
  return (
    <Button
      busy={update.isPending}
      onClick={() => update.mutate({ enabled }, { onError: tellProblem, onSuccess: () => tell(saved) })}
    >
      {enabled ? t.uptime.turnOn : t.uptime.turnOff}
    </Button>
  );
}

function DeleteUptime({ uptime, onClose }: { uptime: Uptime; onClose: () => void }) {
  const t = useText().uptime;
  const remove = useDeleteUptime(uptime.application_id);
  return (
    <Confirm
      title={t.removeTitle}
      action={t.remove}
      danger
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() =>
        remove.mutate(undefined, {
          onSuccess: () => {
            tell(t.removed);
            onClose();
          },
        })
      }
    >
      <p>{t.removeText}</p>
    </Confirm>
  );
}
