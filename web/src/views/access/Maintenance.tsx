import { useState } from "preact/hooks";
import { useUpdateAccess } from "../../api/access";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { ProblemText } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import type { GroupProps } from "./useGroup";

/** A switch. It is asked before visitors are kept out, and not before they come in again. */
export function Maintenance({ application, access, readOnly }: GroupProps) {
  const t = useText().access;
  const update = useUpdateAccess(application);
  const [asks, setAsks] = useState(false);
  const { maintenance } = access;
  const turn = (on: boolean) =>
    update.mutate(
      { maintenance: on },
      {
        onSuccess: () => {
          tell(on ? t.maintenanceStarted : t.maintenanceEnded);
          setAsks(false);
        },
      },
    );
  return (
    <section class="card stack">
      <div class="row between">
        <h2>{t.maintenance}</h2>
        {maintenance && <span class="tag warn">{t.maintenanceOn}</span>}
      </div>
      <p>{maintenance ? t.maintenanceIs : t.maintenanceText}</p>
      {!readOnly && (
        <div class="row">
          <Button
            busy={update.isPending}
            onClick={() => {
              update.reset();
              if (maintenance) turn(false);
              else setAsks(true);
            }}
          >
            {maintenance ? t.maintenanceEnd : t.maintenanceStart}
          </Button>
        </div>
      )}
      {!asks && <ProblemText error={update.error} />}
      {asks && (
        <Confirm
          title={t.maintenanceTitle(application.name)}
          action={t.maintenanceStart}
          danger
          busy={update.isPending}
          error={update.error}
          onClose={() => setAsks(false)}
          onConfirm={() => turn(true)}
        >
          <p>{t.maintenanceText}</p>
        </Confirm>
      )}
    </section>
  );
}
