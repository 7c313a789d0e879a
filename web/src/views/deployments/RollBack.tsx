import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { Application } from "../../api/applications";
import { type Deployment, liveOf, useComparison, useRollBack } from "../../api/deployments";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { Facts } from "../../ui/Facts";
import { CheckField } from "../../ui/Field";
import { Time } from "../../ui/Time";
import { Changes } from "./Changes";
import { Commit } from "./Commit";

function WillChange({ applicationId, from, to }: { applicationId: string; from: string; to: string }) {
  const { data } = useComparison(applicationId, from, to);
  return data ? <Changes changes={data.changes} /> : null;
}

/** Says what changes before it goes back. */
export function RollBack({
  application,
  to,
  onClose,
}: {
  application: Application;
  to: Deployment;
  onClose: () => void;
}) {
  const t = useText();
  const { route } = useLocation();
  const rollBack = useRollBack(application.id);
  const [withData, setWithData] = useState(false);
  const live = liveOf(application.deployments);
  const release = (deployment: Deployment) => (
    <>
      <Commit of={deployment} /> <Time at={deployment.created_at} />
    </>
  );
  return (
    <Confirm
      title={t.deployments.rollBackTitle}
      action={t.deployments.rollBack}
      busy={rollBack.isPending}
      error={rollBack.error}
      onClose={onClose}
      onConfirm={() =>
        rollBack.mutate(
          { id: to.id, with_data: withData },
          {
            onSuccess: ({ id }) => {
              onClose();
              route(`/applications/${application.id}/deployments/${id}`);
            },
          },
        )
      }
    >
      <Facts
        rows={[
          [t.deployments.rollBackNow, live && release(live)],
          [t.deployments.rollBackThen, release(to)],
        ]}
      />
      <p>{t.deployments.rollBackChanges}</p>
      {live && <WillChange applicationId={application.id} from={live.id} to={to.id} />}
      <p>{t.deployments.rollBackStays}</p>
      {to.can_restore_data && (
        <CheckField label={t.deployments.rollBackData} checked={withData} onChecked={setWithData} />
      )}
      {!withData && application.volumes.length > 0 && <p>{t.deployments.rollBackDataStays}</p>}
    </Confirm>
  );
}
