import { useLocation } from "preact-iso";
import type { Execution } from "../../api/executions";
import { type Installation, useRollBackInstallation } from "../../api/installations";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { Facts } from "../../ui/Facts";
import { Time } from "../../ui/Time";
import { readValues } from "../extensions/facts";
import { ChangeList } from "./ChangeList";
import { valueChanges } from "./changes";
import { beforeLast } from "./history";

interface Props {
  installation: Installation;
  executions: readonly Execution[];
  onClose: () => void;
}

/** Says what comes back before it goes back. */
export function RollBack({ installation, executions, onClose }: Props) {
  const t = useText().installations;
  const { route } = useLocation();
  const rollBack = useRollBackInstallation(installation.id);
  const before = beforeLast(installation, executions);
  return (
    <Confirm
      title={t.rollBackTitle(installation.name)}
      action={t.rollBack}
      busy={rollBack.isPending}
      error={rollBack.error}
      onClose={onClose}
      onConfirm={() => rollBack.mutate(undefined, { onSuccess: ({ id }) => route(`/extensions/executions/${id}`) })}
    >
      <p>{t.rollBackText}</p>
      {before && (
        <>
          <Facts
            rows={[
              [t.rollBackNow, installation.version],
              [
                t.rollBackThen,
                <span key="then">
                  {before.version}, <Time at={before.created_at} />
                </span>,
              ],
            ]}
          />
          <ChangeList
            changes={valueChanges(readValues(installation.variable_values), readValues(before.variable_values))}
          />
        </>
      )}
    </Confirm>
  );
}
